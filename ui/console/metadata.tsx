import { TextFilterMethod } from "../../src/gen/core/filter/v2/filter_pb.ts"
import type { Metadata as Entry } from "../../src/gen/core/metadata/v2/metadata_pb.ts"
import { TextArea, TextField } from "../kit/field.tsx"
import { Clip } from "./badges.tsx"
import { Collection, type FormPart } from "./collection.tsx"
import { DialogForm, useTexts } from "./form.tsx"
import { useHouse } from "./house.ts"
import type { Asked, Found } from "./listing.tsx"
import type { Readings } from "./load.ts"
import { Time } from "./time.tsx"

type Noted = { readonly key: string; readonly value: Uint8Array<ArrayBuffer> }

type MetadataProps = {
  readonly about: string
  readonly readings: Readings
  readonly read: (asked: ListAsked, options: Options) => Promise<ListAnswer>
  readonly set: (metadata: Noted[]) => Promise<unknown>
  readonly remove: (keys: string[]) => Promise<unknown>
}

type Options = { readonly signal: AbortSignal }
type ListAsked = ReturnType<typeof askedOf>
type ListAnswer = {
  readonly metadata: readonly Entry[]
  readonly pagination?: { readonly totalResult: bigint } | undefined
}

/** What programs have noted about somebody or something, by key. */
export function Metadata({ about, readings, read, set, remove }: MetadataProps) {
  const { t } = useHouse()
  const list = async (asked: Asked, signal: AbortSignal): Promise<Found<Entry>> => {
    const { metadata, pagination } = await read(askedOf(asked), { signal })
    return { rows: metadata, total: Number(pagination?.totalResult ?? metadata.length) }
  }
  return (
    <Collection
      family="metadata"
      scope={about}
      readings={readings}
      read={list}
      columns={[
        { label: t("metadata.key"), cell: ({ key }) => <code>{key}</code> },
        { label: t("metadata.value"), cell: ({ value }) => <Clip text={textOf(value)} /> },
        { label: t("field.changed"), cell: ({ changeDate }) => <Time at={changeDate} /> },
      ]}
      keyOf={({ key }) => key}
      nameOf={({ key }) => key}
      form={(entry, part) => <EntryForm entry={entry} set={set} {...part} />}
      remove={({ key }) => remove([key])}
    />
  )
}

function askedOf({ text, ...page }: Asked) {
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const filter = { case: "keyFilter", value: { key: text, method } } as const
  return { pagination: { ...page, asc: true }, filters: text ? [{ filter }] : [] }
}

/** Values are bytes, nearly always of a text. */
const textOf = (value: Uint8Array): string => new TextDecoder().decode(value)

type EntryFormProps = FormPart & Pick<MetadataProps, "set"> & { readonly entry: Entry | undefined }

function EntryForm({ entry, set, ...part }: EntryFormProps) {
  const { t } = useHouse()
  const { texts, field } = useTexts({
    key: entry?.key ?? "",
    value: entry ? textOf(entry.value) : "",
  })
  const save = () => set([{ key: texts.key.trim(), value: new TextEncoder().encode(texts.value) }])
  const title = entry?.key ?? t("metadata.create")
  return (
    <DialogForm title={title} submit={entry ? undefined : title} save={save} {...part}>
      {!entry && (
        <TextField
          label={t("metadata.key")}
          {...field("key")}
          spellCheck={false}
          required
          autoFocus
        />
      )}
      <TextArea
        label={t("metadata.value")}
        rows={4}
        {...field("value")}
        maxLength={500_000}
        spellCheck={false}
        required
        autoFocus={entry !== undefined}
      />
    </DialogForm>
  )
}
