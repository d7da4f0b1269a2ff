import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';

export default {
  process: (source) => ({ code: stripTypeScriptTypes(source) }),
  getCacheKey: (source, path, { configString }) =>
    createHash('sha1').update(process.version).update(source).update(path).update(configString).digest('hex'),
};
