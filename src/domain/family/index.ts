export { type CredentialKind, expiryOf } from "./credential.ts"
export { type Metadata, type MetadataOwner, metadataOf } from "./metadata.ts"
export { removalFrom } from "./removal.ts"
