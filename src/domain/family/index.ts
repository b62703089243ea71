export { type CredentialKind, requireExpiry } from "./credential.ts"
export { type Metadata, type MetadataOwner, metadataOf } from "./metadata.ts"
export { createRemoval } from "./removal.ts"
