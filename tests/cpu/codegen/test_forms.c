#include "support/suite.h"
