import type { AnyEvent, Change, NoUndoReason, UndoRequest } from "../../store/index.ts"
import { metadataOf } from "../family/index.ts"
import { requireExists } from "./domain.ts"
import { metadataOfOrg } from "./metadata-view.ts"
import { type Org, type OrgEvent, org } from "./model.ts"

/** The metadata of organizations. */
export const orgMetadata = metadataOf<OrgEvent, Org>({
  kind: org,
  noun: "an organization",
  requireExists,
  entriesOf: metadataOfOrg,
  setEvent: (key, value) => ({ type: "org.metadata.set", data: { key }, private: { value } }),
  removed: (key) => ({ type: "org.metadata.removed", data: { key } }),
  errorIds: {
    missing: "org.metadata_missing",
    tooLong: "org.metadata_too_long",
    tooMuch: "org.metadata_too_much",
    twice: "org.metadata_twice",
  },
})

export const { set: setMetadata, remove: removeMetadata } = orgMetadata

/** How a metadata change is undone: the key gets its previous value, or is deleted. */
export const metadataUndo =
  (metadata: string) =>
  ({ event, earlier }: MetadataChange): NoUndoReason | UndoRequest => {
    const { key } = event.data
    if (!earlier || earlier.type.endsWith(".removed")) return [`Delete${metadata}`, { keys: [key] }]
    const value = earlier.private && "value" in earlier.private ? earlier.private.value : undefined
    if (typeof value !== "string") return "parts"
    return [`Set${metadata}`, { metadata: [{ key, value: Buffer.from(value, "base64") }] }]
  }

type MetadataChange = Pick<Change<AnyEvent, unknown>, "earlier"> & {
  readonly event: { readonly data: { readonly key: string } }
}
