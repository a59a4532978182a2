/*
 * The functions of recolva.h from a library that is loaded at run time: call load()
 * once, then use them as if they were linked.
 */
#include "recolva.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define LOADED(name) static __typeof__(&name) loaded_##name
LOADED(RecolvaAbiVersion);
LOADED(DecayScoreExponential);
LOADED(DecayScorePowerLaw);
LOADED(DecayScoreExponentialBatch);
LOADED(DecayScorePowerLawBatch);
LOADED(RecolvaScanBlock);

#define RecolvaAbiVersion loaded_RecolvaAbiVersion
#define DecayScoreExponential loaded_DecayScoreExponential
#define DecayScorePowerLaw loaded_DecayScorePowerLaw
#define DecayScoreExponentialBatch loaded_DecayScoreExponentialBatch
#define DecayScorePowerLawBatch loaded_DecayScorePowerLawBatch
#define RecolvaScanBlock loaded_RecolvaScanBlock

/* Puts the address of a function where pointer points; POSIX has it that this cast works. */
static void find(void* library, const char* name, void* pointer) {
    void* address = dlsym(library, name);
    if (address == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void**)pointer = address;
}

/* Loads the library that RECOLVA_LIBRARY names, or the one that the system finds. It stays loaded. */
static void load(void) {
    const char* name = getenv("RECOLVA_LIBRARY");
    void* library = dlopen(name != NULL ? name : "librecolva.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    find(library, "RecolvaAbiVersion", &loaded_RecolvaAbiVersion);
    if (RecolvaAbiVersion() != RECOLVA_ABI_VERSION) {
        fprintf(stderr, "ABI version must be %d, got %d\n", RECOLVA_ABI_VERSION, (int)RecolvaAbiVersion());
        exit(1);
    }
    find(library, "DecayScoreExponential", &loaded_DecayScoreExponential);
    find(library, "DecayScorePowerLaw", &loaded_DecayScorePowerLaw);
    find(library, "DecayScoreExponentialBatch", &loaded_DecayScoreExponentialBatch);
    find(library, "DecayScorePowerLawBatch", &loaded_DecayScorePowerLawBatch);
    find(library, "RecolvaScanBlock", &loaded_RecolvaScanBlock);
}
