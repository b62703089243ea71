import { Fault } from "../../kernel/fault.ts"
import { metadataOf } from "../family/index.ts"
import { hasLeft, type User, type UserEvent, user } from "../user-model/index.ts"
import { heldMetadata } from "./metadata-view.ts"

export type { Metadata } from "../family/index.ts"

/** The metadata of users. */
export const userMetadata = metadataOf<UserEvent, User>({
  kind: user,
  noun: "a user",
  mustExist,
  held: heldMetadata,
  set: (key, value) => ({ type: "user.metadata.set", data: { key }, private: { value } }),
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

function mustExist(state: User): void {
  if (hasLeft(state)) throw new Fault("not_found", "user.missing", "there is no such user")
}
