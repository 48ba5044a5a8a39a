test_api_ipc.o: tests/cpu/abi/test_api_ipc.c \
  tests/cpu/support/api_graph.h tests/cpu/support/api_wait.h \
  tests/cpu/support/api.h src/base/common.h src/base/alloc.h \
  src/drv/cuda_abi.h src/drv/codes.def src/drv/attributes.def \
  tests/cpu/support/driver.h src/drv/cuda.def src/cpu/mem/share.h \
  tests/support/suite.h

tests/cpu/support/api_graph.h:

tests/cpu/support/api_wait.h:

tests/cpu/support/api.h:

src/base/common.h:

src/base/alloc.h:

src/drv/cuda_abi.h:

src/drv/codes.def:

src/drv/attributes.def:

tests/cpu/support/driver.h:

src/drv/cuda.def:

src/cpu/mem/share.h:

tests/support/suite.h:
