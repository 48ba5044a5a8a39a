# SPDX-License-Identifier: MIT
# How Sphinx makes the site; see make/site.mk.
import os

project = "Kudzu"
author = "the Kudzu maintainers"
extensions = ["myst_parser", "breathe"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Kudzu"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"source_repository": "", "top_of_page_buttons": []}
pygments_style = "tango"
pygments_dark_style = "github-dark"
highlight_language = "text"
# A macro and a type of one name are two declarations.
suppress_warnings = ["misc.highlighting_failure", "duplicate_declaration.c"]
# Else Sphinx takes `imaginary`, a member of a structure, for a keyword.
c_extra_keywords = []
breathe_projects = {"kudzu": os.environ["KUDZU_XML"]}
breathe_default_project = "kudzu"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
