export { moveFromPostgres, moveToPostgres } from "./move/move.ts"
export { openPostgresLog } from "./shared/postgres-log.ts"
