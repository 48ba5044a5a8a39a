test_reduce.o: tests/ops/test_reduce.c src/base/common.h src/base/alloc.h \
  src/core/memory.h src/core/stream.h src/core/device.h \
  src/core/mempool.h src/core/free_list.h src/drv/cuda_abi.h \
  src/drv/codes.def src/drv/attributes.def include/kudzu/pool.h \
  include/kudzu/dtype.h include/kudzu/error.h include/kudzu/version.h \
  include/kudzu/memory.h include/kudzu/stream.h include/kudzu/device.h \
  src/core/object.h src/base/error.h include/kudzu/kudzu.h \
  include/kudzu/array.h include/kudzu/shape.h \
  include/kudzu/preprocessor.h include/kudzu/bundle.h \
  include/kudzu/image.h include/kudzu/cache.h include/kudzu/create.h \
  include/kudzu/kernel.h include/kudzu/module.h include/kudzu/custom.h \
  include/kudzu/view.h include/kudzu/diagnose.h \
  include/kudzu/diagnostic.h include/kudzu/dlpack.h include/kudzu/eval.h \
  include/kudzu/ops.h include/kudzu/ffi.h include/kudzu/indexing.h \
  include/kudzu/inspect.h include/kudzu/join.h include/kudzu/layout.h \
  include/kudzu/linalg.h include/kudzu/link.h include/kudzu/npy.h \
  include/kudzu/pinned.h include/kudzu/scan.h include/kudzu/reduce.h \
  include/kudzu/warm.h src/core/pinned.h src/drv/drv.h src/drv/codes.h \
  src/drv/cuda.def tests/support/device_test.h tests/support/suite.h \
  tests/support/support.h tests/stub/stub.h

src/base/common.h:

src/base/alloc.h:

src/core/memory.h:

src/core/stream.h:

src/core/device.h:

src/core/mempool.h:

src/core/free_list.h:

src/drv/cuda_abi.h:

src/drv/codes.def:

src/drv/attributes.def:

include/kudzu/pool.h:

include/kudzu/dtype.h:

include/kudzu/error.h:

include/kudzu/version.h:

include/kudzu/memory.h:

include/kudzu/stream.h:

include/kudzu/device.h:

src/core/object.h:

src/base/error.h:

include/kudzu/kudzu.h:

include/kudzu/array.h:

include/kudzu/shape.h:

include/kudzu/preprocessor.h:

include/kudzu/bundle.h:

include/kudzu/image.h:

include/kudzu/cache.h:

include/kudzu/create.h:

include/kudzu/kernel.h:

include/kudzu/module.h:

include/kudzu/custom.h:

include/kudzu/view.h:

include/kudzu/diagnose.h:

include/kudzu/diagnostic.h:

include/kudzu/dlpack.h:

include/kudzu/eval.h:

include/kudzu/ops.h:

include/kudzu/ffi.h:

include/kudzu/indexing.h:

include/kudzu/inspect.h:

include/kudzu/join.h:

include/kudzu/layout.h:

include/kudzu/linalg.h:

include/kudzu/link.h:

include/kudzu/npy.h:

include/kudzu/pinned.h:

include/kudzu/scan.h:

include/kudzu/reduce.h:

include/kudzu/warm.h:

src/core/pinned.h:

src/drv/drv.h:

src/drv/codes.h:

src/drv/cuda.def:

tests/support/device_test.h:

tests/support/suite.h:

tests/support/support.h:

tests/stub/stub.h:
