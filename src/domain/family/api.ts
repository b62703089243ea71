export { listOf, timeFilter } from "./v2-list.ts"
export { metadataOperations } from "./v2-metadata.ts"
