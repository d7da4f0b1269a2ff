#!/usr/bin/env node
// kubectl runs this program to complete the words after `kubectl purser`.
'use strict';

const { launch } = require('./purser.cjs');

launch(['__complete', ...process.argv.slice(2)]);
