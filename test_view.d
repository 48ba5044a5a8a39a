test_view.o: tests/array/test_view.c src/base/common.h src/base/alloc.h \
  tests/array/views.h src/array/shape.h src/base/error.h \
  include/kudzu/error.h include/kudzu/version.h include/kudzu/shape.h \
  include/kudzu/preprocessor.h tests/support/device_test.h \
  tests/support/suite.h tests/support/support.h tests/stub/stub.h \
  src/drv/drv.h src/drv/codes.h src/drv/cuda_abi.h src/drv/codes.def \
  src/drv/attributes.def src/drv/cuda.def include/kudzu/kudzu.h \
  include/kudzu/array.h include/kudzu/dtype.h include/kudzu/memory.h \
  include/kudzu/stream.h include/kudzu/device.h include/kudzu/bundle.h \
  include/kudzu/image.h include/kudzu/cache.h include/kudzu/create.h \
  include/kudzu/kernel.h include/kudzu/module.h include/kudzu/custom.h \
  include/kudzu/view.h include/kudzu/diagnose.h \
  include/kudzu/diagnostic.h include/kudzu/dlpack.h include/kudzu/eval.h \
  include/kudzu/ops.h include/kudzu/ffi.h include/kudzu/indexing.h \
  include/kudzu/inspect.h include/kudzu/join.h include/kudzu/layout.h \
  include/kudzu/linalg.h include/kudzu/link.h include/kudzu/npy.h \
  include/kudzu/pinned.h include/kudzu/pool.h include/kudzu/scan.h \
  include/kudzu/reduce.h include/kudzu/warm.h

src/base/common.h:

src/base/alloc.h:

tests/array/views.h:

src/array/shape.h:

src/base/error.h:

include/kudzu/error.h:

include/kudzu/version.h:

include/kudzu/shape.h:

include/kudzu/preprocessor.h:

tests/support/device_test.h:

tests/support/suite.h:

tests/support/support.h:

tests/stub/stub.h:

src/drv/drv.h:

src/drv/codes.h:

src/drv/cuda_abi.h:

src/drv/codes.def:

src/drv/attributes.def:

src/drv/cuda.def:

include/kudzu/kudzu.h:

include/kudzu/array.h:

include/kudzu/dtype.h:

include/kudzu/memory.h:

include/kudzu/stream.h:

include/kudzu/device.h:

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

include/kudzu/pool.h:

include/kudzu/scan.h:

include/kudzu/reduce.h:

include/kudzu/warm.h:
