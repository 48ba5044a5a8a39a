# SPDX-License-Identifier: MIT
# The site: the pages of docs as web pages.  By hand, for it needs the network once, for Sphinx.

SITE ?= sphinx furo myst-parser
build/site/venv/bin/sphinx-build:
	$(call say,PIP)$(PYTHON) -m venv build/site/venv && build/site/venv/bin/pip install -q $(SITE)
.PHONY: site
site: build/site/venv/bin/sphinx-build ## build/site/html: all documentation as web pages, by Sphinx
	@packaging/site/pages build/site/source
	@build/site/venv/bin/sphinx-build -q -W --keep-going -d build/site/doctrees -c packaging/site \
		build/site/source build/site/html
	@echo build/site/html/index.html
