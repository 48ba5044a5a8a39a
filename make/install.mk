# SPDX-License-Identifier: MIT
#
# Installing, and the archive of the sources.

LINKS := $(LIBDIR)/libkudzu.so $(LIBDIR)/libkudzu.so.$(SOVERSION)
LIBRARIES := libkudzu.so.$(VERSION) libkudzu.a $(cpu-driver)
PKGCONFIG := kudzu.pc kudzu-static.pc
CMAKE := kudzuConfig.cmake kudzuConfigVersion.cmake
# Where shells look for them.
COMPLETIONS := $(addprefix $(DATADIR)/,bash-completion/completions/kudzu zsh/site-functions/_kudzu \
	fish/vendor_completions.d/kudzu.fish)
# The pages, the samples, and what else the pages link to, in the folders of the sources; and the licence
# of sobol.def, which is in that file.
DOCDIR = $(DATADIR)/doc/kudzu
DOCUMENTS := README.md LICENSE CONTRIBUTING.md src/lib/random/sobol.def $(sort $(wildcard \
	docs/*.md docs/dev/*.md kernels/*.cu $(patsubst %,docs/examples/*.%,c cpp) \
	$(patsubst %,samples/*.%,c cpp h csv) samples/mpi/*.[ch] bench/results/*.ndjson))
INSTALLED := $(BINDIR)/kudzu $(MANDIR)/man1/kudzu.1 $(MANDIR)/man3/kudzu.3 $(COMPLETIONS) $(LINKS) \
	$(addprefix $(LIBDIR)/,$(LIBRARIES) $(cpu-names) $(cpu-link) $(cudart) $(cpu-dropin) \
		$(addprefix pkgconfig/,$(PKGCONFIG)) $(addprefix cmake/kudzu/,$(CMAKE))) \
	$(addprefix $(INCLUDEDIR)/,$(HEADERS:include/%=%)) $(addprefix $(DOCDIR)/,$(DOCUMENTS) include/kudzu)

# The CMake file finds the others from where it is itself.
$(addprefix $(BUILD)/,$(PKGCONFIG) $(CMAKE)): $(BUILD)/%: packaging/%.in FORCE
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
		-e 's|@SOVERSION@|$(SOVERSION)|' -e 's|@MAJOR@|$(MAJOR)|' -e 's|@MINOR@|$(MINOR)|' \
		-e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' \
		-e 's|@INCLUDEDIR@|$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)|' \
		-e "s|@LIBDIR_TO_INCLUDEDIR@|$$(realpath -m --relative-to=$(LIBDIR) $(INCLUDEDIR))|" \
		$< >$@
ldconfig = $(if $(DESTDIR),,@if [ "$$(id -u)" = 0 ]; then /sbin/ldconfig; fi)
.PHONY: install uninstall dist
install: all $(addprefix $(BUILD)/,$(PKGCONFIG) $(CMAKE)) ## install into PREFIX, below DESTDIR
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(LIBDIR)/pkgconfig $(LIBDIR)/cmake/kudzu \
		$(INCLUDEDIR)/kudzu $(MANDIR)/man1 $(MANDIR)/man3)
	install $(BUILD)/kudzu $(DESTDIR)$(BINDIR)
	install -m 644 $(addprefix $(BUILD)/,$(LIBRARIES)) $(DESTDIR)$(LIBDIR)
	for link in $(LINKS); do ln -sf libkudzu.so.$(VERSION) $(DESTDIR)$$link || exit 1; done
	$(if $(cpu-driver),install -d $(DESTDIR)$(LIBDIR)/kudzu-cpu)
	for name in $(cpu-names); do \
		ln -sf ../libkudzu-cpu.so $(DESTDIR)$(LIBDIR)/$$name || exit 1; done
	$(if $(cpu-driver),install -D -m 644 $(BUILD)/$(cpu-link) $(DESTDIR)$(LIBDIR)/$(cpu-link))
	for file in $(cudart) $(filter-out %/nvcc,$(cpu-dropin)); do \
		install -D -m 644 $(BUILD)/$$file $(DESTDIR)$(LIBDIR)/$$file || exit 1; done
	for file in $(filter %/nvcc,$(cpu-dropin)); do \
		install -D $(BUILD)/$$file $(DESTDIR)$(LIBDIR)/$$file || exit 1; done
	install -m 644 $(addprefix $(BUILD)/,$(PKGCONFIG)) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(addprefix $(BUILD)/,$(CMAKE)) $(DESTDIR)$(LIBDIR)/cmake/kudzu
	install -m 644 $(HEADERS) $(DESTDIR)$(INCLUDEDIR)/kudzu
	install -m 644 docs/kudzu.1 $(DESTDIR)$(MANDIR)/man1
	install -m 644 docs/kudzu.3 $(DESTDIR)$(MANDIR)/man3
	set -- $(addprefix $(DESTDIR),$(COMPLETIONS)) && \
	install -D -m 644 completions/kudzu.bash $$1 && \
	install -D -m 644 completions/_kudzu $$2 && install -D -m 644 completions/kudzu.fish $$3
	@echo 'install the documentation into $(DESTDIR)$(DOCDIR)'
	@for file in $(DOCUMENTS); do install -D -m 644 $$file $(DESTDIR)$(DOCDIR)/$$file || exit 1; done
	mkdir -p $(DESTDIR)$(DOCDIR)/include
	ln -sfnr $(DESTDIR)$(INCLUDEDIR)/kudzu $(DESTDIR)$(DOCDIR)/include/kudzu
	$(ldconfig)
archive := kudzu-$(VERSION).tar.gz
# An archive of the sources has no git, and its folder may lie in that of something else that has.  Only
# the owner may write to what is unpacked: the library loads no driver from a folder to which others can write.
dist: ## the sources as build/kudzu-VERSION.tar.gz, from git's HEAD if there is git, else from this folder
	@mkdir -p build
	@name=kudzu-$(VERSION) && archive=build/$$name.tar && \
	if [ -e .git ]; then git -c tar.umask=022 archive --format=tar --prefix=$$name/ HEAD; \
	else tar -cf - --exclude=./build --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w \
		--transform="flags=rh;s|^\.|$$name|" .; fi >$$archive && gzip -n9f $$archive
uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	for folder in $(INCLUDEDIR)/kudzu $(addprefix $(LIBDIR)/,kudzu-cpu/stubs kudzu-cpu/cuda12 kudzu-cpu/front kudzu-cpu/bin kudzu-cpu cmake/kudzu) \
		$(addprefix $(DOCDIR)/,docs/dev docs/examples docs samples/mpi samples kernels \
			bench/results bench src/lib/random src/lib src include .); do \
		folder=$$(realpath -m $(DESTDIR)$$folder); [ ! -d "$$folder" ] || rmdir "$$folder"; done
	$(ldconfig)

# By hand, for they need Python's packages wheel and auditwheel, and the check needs the network.
PYTHON ?= python3
.PHONY: wheel check-wheel
wheel: all ## build/release/wheel/kudzu_cpu-*.whl: the command, the libraries and the CPU device, for pip
	@MAKE='$(MAKE)' CC='$(CC)' PYTHON='$(PYTHON)' packaging/wheel/build $(BUILD) $(VERSION) $(SOVERSION)
check-wheel: wheel ## install the wheel and NVRTC in a new environment of Python, and use them
	$(call step,$@,CC='$(CC)' PYTHON='$(PYTHON)' packaging/wheel/check $(BUILD)/wheel)
# Who packages are from, as Debian has it: NAME <ADDRESS>.
CONTACT ?= Kudzu maintainers <maintainers@kudzu.invalid>
.PHONY: deb check-deb
deb: dist ## build/deb/*.deb: Debian's packages of git's HEAD (SUITE=trixie: built on a bare one; root)
	@packaging/debian/build build/$(archive) $(CURDIR)/build/deb $(VERSION) $(SOVERSION) '$(CONTACT)' $(SUITE)
check-deb: ## install build/deb/*.deb on a bare Debian, use and remove them (root; SUITE=trixie: as built)
	$(call step,$@,packaging/debian/check $(CURDIR)/build/deb $(SUITE))

# Where the project is, as https://HOST/OWNER/NAME: files for CI of other projects then take the action
# and the wheel of its releases, and recipes the archive.  While it is empty, CI takes both from the folder
# of the project that uses them, and recipes take the archive that `make release` has written.
ADDRESS ?=
published = $(if $(ADDRESS),$(ADDRESS)/releases/download/v$(VERSION)/)
ci-action = $(if $(ADDRESS),$(ADDRESS:https://github.com/%=%)/packaging/ci@v$(VERSION),./.github/actions/kudzu)
.PHONY: ci-files check-ci-files
ci-files: wheel ## build/release/ci: a workflow, an action and a container file that test kernels in CI (ADDRESS=...)
	@rm -rf $(BUILD)/ci && mkdir -p $(BUILD)/ci && \
		cp packaging/ci/action.yml packaging/ci/Containerfile $(BUILD)/ci
	@wheel=$$(basename $(BUILD)/wheel/kudzu_cpu-*.whl) && sed -e 's|@ACTION@|$(ci-action)|' \
		-e "s|@WHEEL@|$(published)$$wheel|" \
		packaging/ci/kernels.yml.in >$(BUILD)/ci/kernels.yml
check-ci-files: ci-files ## lint them, and do their steps on a bare Debian 12 (root)
	$(call step,$@,PYTHON='$(PYTHON)' packaging/ci/check $(BUILD)/ci $(BUILD)/wheel)

# What is published with a version; docs/dev/release.md has the steps.
RELEASE := build/dist
.PHONY: release check-dist recipes check-recipes
release: dist ## build/dist: the sources, their checksum, and the list of their files and licences (SPDX)
	@PYTHON='$(PYTHON)' packaging/release/build build/$(archive) $(RELEASE) $(VERSION) \
		$(addsuffix $(archive),$(published))
check-dist: release ## it is the same twice, and builds without git: minutes
	$(call step,$@,MAKE='$(MAKE)' PYTHON='$(PYTHON)' $(nvrtc) \
		packaging/release/check $(RELEASE) $(VERSION))
recipe-files := conda-forge/recipe.yaml vcpkg/vcpkg.json vcpkg/portfile.cmake
recipes: release ## build/recipes: for conda-forge and vcpkg (ADDRESS=...)
	@rm -rf build/recipes && mkdir -p build/recipes/conda-forge build/recipes/vcpkg
	@sum() { sha$${1}sum $(RELEASE)/$(archive) | cut -d ' ' -f 1; }; for file in $(recipe-files); do \
		sed -e 's|@VERSION@|$(VERSION)|' -e 's|@SOVERSION@|$(SOVERSION)|' \
		-e 's|@ADDRESS@|$(ADDRESS)|' $(if $(ADDRESS),,-e '/"homepage"\|homepage:/d') \
		-e 's|@URL@|$(or $(published),file://$(CURDIR)/$(RELEASE)/)$(archive)|' \
		-e "s|@SHA256@|$$(sum 256)|" -e "s|@SHA512@|$$(sum 512)|" \
		packaging/$$file.in >build/recipes/$$file || exit 1; done
	@cp packaging/vcpkg/usage build/recipes/vcpkg
check-recipes: recipes ## lint them with the tools of both, where those are installed
	$(call step,$@ conda-forge,PYTHON='$(PYTHON)' \
		packaging/conda-forge/check build/recipes/conda-forge/recipe.yaml)
	$(call step,$@ vcpkg,PYTHON='$(PYTHON)' packaging/vcpkg/check build/recipes/vcpkg)
