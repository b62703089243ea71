export { type Cause, likelyCauseOf } from "./cause.ts"
export {
  type Finding,
  type FindingSource,
  findingOfUri,
  findingsOf,
  findingWithoutValue,
} from "./finding.ts"
export { type Refusal, storeRefusal } from "./refusal.ts"

/** Parts of this module that the server loads. */
export const module = {
  operations: () => import("./api.ts"),
} as const
