import { userMetadataView } from "./metadata-view.ts"

export { avatarNotFoundError, avatarPath, avatarUrl, findAvatar, setAvatar } from "./avatar.ts"
export {
  claimUserName,
  deactivateUser,
  lockUser,
  removeUser,
  requireExists,
  updateUser,
} from "./commands.ts"
export { requireContactOwner, verifyByLink } from "./contact.ts"
export {
  addServerUser,
  addUser,
  findFreeOwnUserId,
  importUser,
  type NewHuman,
  type NewMachine,
  type NewProfile,
  withFreeName,
} from "./create.ts"
export { parseJwtFormat, toJwtFormatFields } from "./jwt-format.ts"
export { canRename, findNameHolder, isSameName, loginClaim } from "./login-name.ts"
export { type Metadata, noteMetadata, setMetadata } from "./metadata.ts"
export { listMetadata, metadataFilter } from "./metadata-view.ts"
export { findOwnerlessTime, warnIfOwnerless } from "./owner-watch.ts"
export { recoverUser } from "./recovery.ts"
export { requireHigherRank } from "./require-higher-rank.ts"

/** Parts of this module that the server loads. */
export const module = {
  views: [userMetadataView],
  operations: () => import("./api.ts"),
} as const
