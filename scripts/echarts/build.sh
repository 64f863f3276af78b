#!/usr/bin/env bash
# Builds reports/webpage/echarts.js, the parts of Apache ECharts that pages embed, from the
# versions in package-lock.json. Needs npm and the network.
set -euo pipefail
cd "$(dirname "$0")"
out=../../reports/webpage/echarts.js
npm ci --ignore-scripts --silent
node node_modules/esbuild/install.js
version=$(node -p 'require("echarts/package.json").version')
{
	echo "/*! Parts of Apache ECharts $version with ZRender, built by scripts/echarts/build.sh. Apache ECharts: Copyright"
	echo "2017-2026 The Apache Software Foundation, Apache License 2.0. ZRender: Copyright 2017 Baidu Inc., and d3: Copyright"
	echo "2010-2017 Mike Bostock, BSD 3-Clause. tslib: Copyright Microsoft Corporation, 0BSD. See echarts.LICENSE. */"
	npx esbuild entry.js --bundle --minify --format=iife --legal-comments=none --define:process.env.NODE_ENV='"production"'
} >"$out"
{
	cat node_modules/echarts/NOTICE
	printf '\n\n==== Apache ECharts, Apache License 2.0 ====\n'
	cat node_modules/echarts/LICENSE
	printf '\n==== d3, parts of which are in ECharts ====\n'
	cat node_modules/echarts/licenses/LICENSE-d3
	printf '\n==== ZRender ====\n'
	cat node_modules/zrender/LICENSE
	printf '\n==== tslib ====\n'
	cat node_modules/tslib/LICENSE.txt
} >../../reports/webpage/echarts.LICENSE
ls -l "$out"
