import { userMetadataView } from "./metadata-view.ts"

export { avatarAddress, avatarPath, findAvatar, noPictureError, setAvatar } from "./avatar.ts"
export {
  claimUserName,
  deactivateUser,
  existing,
  lockUser,
  removeUser,
  updateUser,
} from "./commands.ts"
export { personOf, verifyByLink } from "./contact.ts"
export {
  addOwnUser,
  addUser,
  importUser,
  type NewHuman,
  type NewMachine,
  type NewProfile,
  ownUserId,
  withFreeName,
} from "./create.ts"
export { jwtFormatFields, jwtFormatOf } from "./jwt-format.ts"
export { canRename, isSameName, loginClaim, nameHolder } from "./login-name.ts"
export { type Metadata, noteMetadata, setMetadata } from "./metadata.ts"
export { hasMetadata, heldMetadata } from "./metadata-view.ts"
export { mustOutrank } from "./outrank.ts"
export { warnOfLeaving, whenOwnerless } from "./owner-watch.ts"
export { recoverUser } from "./recovery.ts"

/** What this module is to the whole. */
export const module = {
  views: [userMetadataView],
  operations: () => import("./api.ts"),
} as const
