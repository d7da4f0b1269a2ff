// Log lines: JSON, or readable text on a terminal.

import { type LevelWithSilent, type Logger, pino, stdTimeFunctions } from 'pino';
import { omitUndefined } from '../std/omit-undefined.ts';
import { redactTokens } from '../std/sensitive.ts';

export type { Logger };

export interface LoggerOptions {
  readonly level: LevelWithSilent;
  readonly readable: boolean;
  readonly write: (line: string) => unknown;
}

/** Creates a logger, which redacts secret fields and everything that looks like a token. Pass errors as the `error` field. */
export function createLogger({ level, readable, write }: LoggerOptions): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { error: serializeError },
    redact: { paths: SECRET_PATHS, censor: '[redacted]' },
  };
  return pino(options, { write: (line: string) => write(redactTokens(readable ? formatReadable(line) : line)) });
}

/**
 * Returns the logger for decisions about tokens. It is active at all levels except `silent`, and redacts no fields, because none is secret.
 */
export function createAuditLogger(log: Logger): Logger {
  return log.level === 'silent' ? log : log.child({}, { level: 'info', redact: [] });
}

const SECRET_PATHS = ['token', '*.token', 'authorization', '*.authorization', '*.headers.authorization'];

/** Serializes an error; includes the stack only for types of errors that indicate a defect. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: redactTokens(String(error)) };
  const { name, message, stack = '' } = error;
  const code = 'code' in error ? error.code : undefined;
  return omitUndefined({ name, message: redactTokens(message), code, stack: DEFECTS.has(name) ? redactTokens(stack) : undefined });
}

const DEFECTS = new Set(['Error', 'TypeError', 'RangeError', 'ReferenceError', 'AssertionError']);

function formatReadable(line: string): string {
  const { level, time, msg, error, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const details = Object.entries(rest).map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const { message = '', stack = '' } = (error ?? {}) as Record<string, string>;
  const cause = message && `: ${message}`;
  const text = `${String(time).slice(11, 19)} ${String(level).toUpperCase().padEnd(5)} ${String(msg)}${cause}${details.join('')}`;
  return [text, ...filterFrames(stack)].map((entry) => `${escapeControls(entry)}\n`).join('');
}

/** Returns the frames of a stack without the message. */
function filterFrames(stack: string): readonly string[] {
  return stack.split('\n').filter((line) => /^ +at /.test(line));
}

/** Escapes control and invisible characters, so that a value cannot forge a line. */
function escapeControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`);
}
