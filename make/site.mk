# SPDX-License-Identifier: MIT
# The site: the pages of docs, the reference, and pages made from data.  By hand, for it needs the
# network once, for Sphinx, and Chromium for the check.

# These versions were tried; make site SITE='sphinx furo ...' takes the newest.
SITE ?= sphinx==9.0.4 furo==2025.12.19 myst-parser==5.2.0 breathe==5.1.0 playwright==1.65.2
CHROMIUM ?= chromium
build/site/installed: make/site.mk
	$(call say,PIP)$(PYTHON) -m venv build/site/venv && \
		build/site/venv/bin/pip install -q $(SITE) && touch $@
.PHONY: site check-site
site: build/site/installed all $(sample-programs) ## build/site/html: all documentation as web pages, by Sphinx
	$(call say,DOXYGEN)$(call doxygen,GENERATE_XML=YES; echo GENERATE_HTML=NO)
	@$(nvrtc) KUDZU_DEVICE=cpu packaging/site/pages $(BUILD) build/site/source
	@packaging/site/plots build/site/source/plots.md
	$(call say,SPHINX)KUDZU_XML=$(abspath $(BUILD))/docs/xml \
		build/site/venv/bin/sphinx-build -q -W --keep-going -d build/site/doctrees -c packaging/site build/site/source build/site/html
	@echo build/site/html/index.html
check-site: site ## every link of the site, and six pages in Chromium at two widths, with pictures (CHROMIUM=...)
	$(call step,$@,chromium=$$(command -v $(CHROMIUM)) || \
		{ echo '$(CHROMIUM) is not installed'; exit 1; }; \
		CHROMIUM=$$chromium build/site/venv/bin/python packaging/site/check \
		build/site/html build/site/pictures)
