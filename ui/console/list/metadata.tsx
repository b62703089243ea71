import type {
  DescMessage,
  DescMethod,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import type { Metadata as Entry } from "../../../src/gen/core/metadata/v2/metadata_pb.ts"
import { defineForm } from "../form/index.ts"
import { t } from "../shell/index.ts"
import { Clip } from "./badges.tsx"
import { Collection } from "./collection.tsx"
import { type ListQuery, paginationOf, toPage } from "./listing.tsx"
import { Time } from "./time.tsx"

type MetadataInput = { readonly key: string; readonly value: Uint8Array<ArrayBuffer> }

type SetMetadata = (metadata: MetadataInput[]) => Promise<unknown>

type MetadataPage = {
  readonly metadata: readonly Entry[]
  readonly pagination?: { readonly totalResult: bigint } | undefined
}

type MetadataProps<I extends DescMessage, O extends DescMessage> = {
  readonly method: DescMethodUnary<I, O>
  readonly toRequest: (query: ReturnType<typeof paginationOfQuery>) => MessageInitShape<I>
  readonly find: (answer: MessageShape<O>) => MetadataPage
  readonly needs: Readonly<Record<"set" | "remove", DescMethod>>
  readonly set: SetMetadata
  readonly remove: (keys: string[]) => Promise<unknown>
}

/** Metadata of a user or organization, by key. */
export function Metadata<I extends DescMessage, O extends DescMessage>(props: MetadataProps<I, O>) {
  const { method, toRequest: ask, find, needs, set, remove } = props
  return (
    <Collection
      family="metadata"
      method={method}
      toRequest={(query) => ask(paginationOfQuery(query))}
      find={(answer) => {
        const { metadata, pagination } = find(answer)
        return toPage(metadata, pagination)
      }}
      columns={[
        { label: t("metadata.key"), cell: ({ key }) => <code>{key}</code> },
        { label: t("metadata.value"), cell: ({ value }) => <Clip text={decodeText(value)} /> },
        { label: t("field.changed"), cell: ({ changeDate }) => <Time at={changeDate} /> },
      ]}
      keyOf={({ key }) => key}
      nameOf={({ key }) => key}
      needs={{ create: needs.set, edit: needs.set, remove: needs.remove }}
      form={(entry) => entryForm(entry, set)}
      remove={({ key }) => remove([key])}
    />
  )
}

function paginationOfQuery(query: ListQuery) {
  const { text } = query
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const filter = { case: "keyFilter", value: { key: text, method } } as const
  return { pagination: paginationOf(query), filters: text ? [{ filter }] : [] }
}

/** Values are bytes, usually of text. */
const decodeText = (value: Uint8Array): string => new TextDecoder().decode(value)

const entryForm = (entry: Entry | undefined, set: SetMetadata) =>
  defineForm({
    initial: { key: entry?.key ?? "", value: entry ? decodeText(entry.value) : "" },
    refusals: { key: ["metadata.key"], value: ["metadata.value"] },
    readBeforeSave: true,
    save: ({ key, value }) => set([{ key: key.trim(), value: new TextEncoder().encode(value) }]),
    fields: ({ text, area }) => [
      !entry && text("key", t("metadata.key"), { spellCheck: false, required: true }),
      area("value", t("metadata.value"), {
        rows: 4,
        maxLength: 500_000,
        spellCheck: false,
        required: true,
      }),
    ],
  })
