"""`assay export`: what numpy reads in the safetensors file is what h5py reads in the checkpoint."""

import json

import h5py
import numpy as np
from command import CommandTest, run_assay


def tensors(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    return metadata, {
        name: np.frombuffer(data[8 + length :][slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in header.items()
    }


class Export(CommandTest):
    def export(self, source, *more):
        self.file = self.folder / "weights.safetensors"
        return run_assay("export", source, "--out", self.file, *more)

    def test_a_run_gives_the_parameters_of_its_newest_checkpoint(self):
        run = self.trained()
        done = self.export(run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 tensors of step 6", done.stdout)
        metadata, found = tensors(self.file)
        self.assertEqual(metadata, {"step": "6"})
        with h5py.File(run / "checkpoints/step-00000006.h5") as file:
            self.assertEqual(list(found), ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"])
            for name, array in found.items():
                self.assertEqual(array.tobytes(), file["parameters"][name][...].tobytes())

    def test_a_checkpoint_gives_its_own(self):
        run = self.trained()
        done = self.export(run / "checkpoints/step-00000004.h5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(tensors(self.file)[0], {"step": "4"})

    def test_FILE_6_what_has_no_whole_checkpoint_is_refused(self):
        self.assert_refused(self.export(self.folder), "FILE-6", str(self.folder), "found none")
        self.assert_refused(self.export(self.experiment), "FILE-6", "small.toml")
        self.assertFalse(self.file.exists())

    def test_FILE_3_a_model_that_is_no_decoder_has_no_names_of_GPT_2(self):
        done = self.export(self.trained(), "--names", "gpt2")
        self.assert_refused(done, "FILE-3", "token_embedding.weight")
        self.assertFalse(self.file.exists())
