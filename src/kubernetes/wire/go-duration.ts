// Ages in kubectl's format.

/** Formats an age with one or two units: 16s, 5m30s, 3d4h, 9y. Returns `<invalid>` for an age of -2 seconds or less. */
export function formatHumanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 120) return `${Math.max(seconds, 0)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return formatUnits([minutes, 'm'], [seconds % 60, 's']);
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return formatUnits([hours, 'h'], [minutes % 60, 'm']);
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return formatUnits([days, 'd'], [hours % 24, 'h']);
  if (days < 2 * 365) return `${days}d`;
  const years = Math.floor(days / 365);
  return days < 8 * 365 ? formatUnits([years, 'y'], [days % 365, 'd']) : `${years}y`;
}

function formatUnits([large, largeUnit]: readonly [number, string], [small, smallUnit]: readonly [number, string]): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
