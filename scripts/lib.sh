# Sourced by the scripts: the packages that a purpose needs. Bash only, because on a bare machine nothing else is there.

python=/usr/bin/python3  # the Python of Debian's h5py and matplotlib; another one may stand before it on PATH

packages_to_run=(g++ meson ninja-build pkg-config libeigen3-dev libhdf5-dev libtomlplusplus-dev libcli11-dev
  nlohmann-json3-dev zlib1g-dev libssl-dev libboost-context-dev python3 python3-numpy python3-h5py python3-matplotlib
  python3-jinja2 dataset-fashion-mnist bible-kjv)
# ONNX's node tests, and what reads their protobuf files.
packages_for_onnx=(python3 python3-numpy python3-h5py python3-onnx libonnx-testdata)
packages_to_test=("${packages_to_run[@]}" libboost-test-dev libmpfr-dev hdf5-tools python3-onnx libonnx-testdata)
packages_to_test_all=("${packages_to_test[@]}" clang)

# Prints those of the given packages that are not installed, one a line.
missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s\n' "$package"
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

apt() {
  LC_ALL=C DEBIAN_FRONTEND=noninteractive as_root apt-get --no-install-recommends "$@"
}

# The two lines of apt that give the number of packages and the sizes; nothing when its lists do not know a package.
installation_size() {
  LC_ALL=C apt-get --no-install-recommends --assume-no install "$@" 2>/dev/null </dev/null |
    sed -nE 's/^[0-9]+ upgraded, ([0-9]+) newly installed.*/  \1 packages with what they depend on/p
             s/^(Need to get .* of archives)\.$/  \1/p
             s/^(After this operation, .*)\.$/  \1/p'
}

# need_packages ask|yes|no PACKAGE…: installs what is missing, after asking, without asking, or not at all (exit 2).
need_packages() {
  local consent=$1 missing size log
  shift
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} = 0 ] && return
  if ! command -v apt-get >/dev/null; then
    printf 'These Debian packages are missing, and there is no apt-get to install them: %s\n' "${missing[*]}" >&2
    exit 2
  fi
  log=$(mktemp "${TMPDIR:-/tmp}/assay-packages.XXXXXX")
  size=$(installation_size "${missing[@]}")
  if [ -z "$size" ] && [ "$consent" != no ]; then
    echo 'Reading the package lists (apt-get update) …'
    apt update >"$log" 2>&1 || { tail -n 5 "$log" >&2; echo "apt-get update failed; its output: $log" >&2; exit 2; }
    size=$(installation_size "${missing[@]}")
  fi
  printf '%d of the %d Debian packages needed here are missing:\n' ${#missing[@]} $#
  printf '%s\n' "${missing[*]}" | fold -s -w 98 | sed 's/^/  /'
  printf '%s\n' "${size:-  sizes are known after apt-get update}"
  case $consent in
    no) rm -f "$log"; exit 2 ;;
    ask)
      printf 'Install them now? [Y/n] '
      local answer
      read -r answer || answer=n
      case $answer in '' | [yY]*) ;; *) echo 'Nothing was installed.'; rm -f "$log"; exit 2 ;; esac ;;
  esac
  echo "Installing (log: $log) …"
  if ! apt --yes install "${missing[@]}" >"$log" 2>&1 </dev/null; then
    # Lists that are too old name files which are gone.
    { apt update && apt --yes install "${missing[@]}"; } >>"$log" 2>&1 </dev/null ||
      { tail -n 5 "$log" >&2; echo "apt-get install failed; its output: $log" >&2; exit 2; }
  fi
  rm -f "$log"
}
