export function followRecords(_: unknown): void {}
