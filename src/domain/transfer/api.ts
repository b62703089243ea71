import { admin } from "./binding/v1.ts"

export { exportLines, importLines } from "./binding/v1-line.ts"
export { recordExport, recordImport } from "./model.ts"
export { exportUsers, importUsers } from "./users.ts"

/** The API operations of this module. */
export const shares = [admin] as const
