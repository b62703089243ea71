export { moveFromPostgres, moveToPostgres } from "./move/move.ts"
export { postgresTime } from "./shared/postgres-client.ts"
export { openPostgresLog } from "./shared/postgres-log.ts"
export { inspectPostgresUpgrade } from "./upgrade/postgres.ts"
