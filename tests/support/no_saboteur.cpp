// The cases ask which saboteur is at work; in a program whose library knows none, none is.
namespace assay {

bool sabotaged(const char*);
bool sabotaged(const char*) { return false; }

}  // namespace assay
