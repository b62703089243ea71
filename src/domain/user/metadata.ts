import { Fault } from "../../kernel/fault.ts"
import { metadataOf } from "../family/index.ts"
import { isAbsent, type User, type UserEvent, user } from "../user-model/index.ts"
import { listMetadata } from "./metadata-view.ts"

export type { Metadata } from "../family/index.ts"

/** Metadata of users. */
export const userMetadata = metadataOf<UserEvent, User>({
  kind: user,
  noun: "a user",
  requireExists: requireUserExists,
  entriesOf: listMetadata,
  setEvent: (key, value) => ({ type: "user.metadata.set", data: { key }, private: { value } }),
  removed: (key) => ({ type: "user.metadata.removed", data: { key } }),
  errorIds: {
    missing: "user.metadata_missing",
    tooLong: "user.metadata_too_long",
    tooMuch: "user.metadata_too_much",
    twice: "user.metadata_twice",
  },
})

export const {
  first: firstMetadata,
  remove: removeMetadata,
  set: setMetadata,
  setWithin: noteMetadata,
} = userMetadata

function requireUserExists(state: User): void {
  if (isAbsent(state)) throw new Fault("not_found", "user.missing", "user not found")
}
