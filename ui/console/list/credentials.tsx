import type {
  DescMessage,
  DescMethod,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf"
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import { type Column, Disclosure, Table } from "../../kit/index.ts"
import { ConfirmButton, DialogButton, formOf } from "../form/index.ts"
import { Part, Section, t, useRead } from "../shell/index.ts"
import { Clip } from "./badges.tsx"
import { actionColumn } from "./listing.tsx"
import { OneTimeSecret } from "./one-time-secret.tsx"
import { Time } from "./time.tsx"

/** What is listed of a key or token; what it is was shown once. */
export type Credential = {
  readonly id: string
  readonly name?: string
  readonly creationDate?: Timestamp | undefined
  readonly expirationDate?: Timestamp | undefined
}

/** Without a text where the holder has it already. */
export type CreatedCredential = { readonly id: string; readonly text: string }

type CredentialInput = {
  readonly name: string
  readonly expirationDate: Timestamp
  readonly publicKey: Uint8Array
}

type Family = "keys" | "app_keys" | "tokens"

type CredentialsProps<I extends DescMessage, O extends DescMessage> = {
  readonly family: Family
  readonly method: DescMethodUnary<I, O>
  readonly input: MessageInitShape<I>
  readonly needs: Readonly<Record<"create" | "remove", DescMethod>>
  readonly find: (answer: MessageShape<O>) => readonly Credential[]
  readonly create: (wanted: CredentialInput) => Promise<CreatedCredential>
  readonly remove: (id: string) => Promise<unknown>
  /** Whether somebody may bring the public half of a key of their own. */
  readonly takesPublicKey?: boolean
}

/** Keys or tokens of one holder: each is made with an end, shown once, and removed. */
export function Credentials<I extends DescMessage, O extends DescMessage>(
  props: CredentialsProps<I, O>,
) {
  const { family, needs, remove } = props
  const [made, setMade] = useState<CreatedCredential | undefined>(undefined)
  const drop = async (id: string) => {
    await remove(id)
    if (made?.id === id) setMade(undefined)
  }
  const form = createForm({ ...props, onMade: setMade })
  const add = (
    <DialogButton family={family} form={form} needs={needs.create} label={t(`${family}.create`)} />
  )
  return (
    <Section title={t(`${family}.title`)} actions={add}>
      {made?.text && (
        <OneTimeSecret
          title={t(`${family}.file`)}
          secret={made.text}
          file={family === "tokens" ? `${made.id}.txt` : `${made.id}.json`}
        />
      )}
      <Part>
        <List {...props} drop={drop} />
      </Part>
    </Section>
  )
}

/** Each has an end; a year is the offer. */
const createForm = (props: Creating) =>
  formOf({
    initial: { name: "", until: dayOf(Date.now() + 365 * dayMs), publicKey: "" },
    refusals: { publicKey: ["key.public"], until: ["key.expir", "token.expir"] },
    save: ({ name, until, publicKey }) => {
      const expirationDate = timestampFromMs(Date.parse(until))
      const own = new TextEncoder().encode(publicKey.trim())
      return props.create({ name, expirationDate, publicKey: own })
    },
    done: (made, close) => {
      props.onMade(made)
      close()
    },
    fields: ({ text, area }) => [
      props.family === "tokens" &&
        text("name", t("field.name"), { hint: t("tokens.name_hint"), maxLength: 200 }),
      text("until", t("keys.until"), {
        hint: t(`${props.family}.until_hint`),
        type: "date",
        min: dayOf(Date.now() + dayMs),
        required: true,
      }),
      props.takesPublicKey && (
        <Disclosure key="own" summary={t("keys.own")}>
          {area("publicKey", t("keys.public"), {
            hint: t("keys.public_hint"),
            placeholder: "-----BEGIN PUBLIC KEY-----",
            rows: 5,
            maxLength: 20_000,
            spellCheck: false,
          })}
        </Disclosure>
      ),
    ],
  })

type Creating = {
  readonly family: Family
  readonly create: (wanted: CredentialInput) => Promise<CreatedCredential>
  readonly takesPublicKey?: boolean
  readonly onMade: (made: CreatedCredential) => void
}

const dayMs = 86_400_000

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10)

type ListProps<I extends DescMessage, O extends DescMessage> = CredentialsProps<I, O> & {
  readonly drop: (id: string) => Promise<void>
}

function List<I extends DescMessage, O extends DescMessage>(props: ListProps<I, O>) {
  const { family, method, input, find, needs, drop } = props
  const rows = find(useRead(method, input))
  if (rows.length === 0) return <p className="quiet section-lead">{t(`${family}.none`)}</p>
  const columns: readonly Column<Credential>[] = [
    ...(family === "tokens"
      ? [{ label: t("field.name"), cell: ({ name = "" }) => <Clip text={name} /> }]
      : []),
    { label: t(`${family}.id`), cell: ({ id }) => <code>{id}</code> },
    { label: t("field.created"), cell: ({ creationDate }) => <Time at={creationDate} /> },
    { label: t("field.expires"), cell: ({ expirationDate }) => <Time at={expirationDate} /> },
    actionColumn(({ id, name }) => (
      <ConfirmButton
        small
        needs={needs.remove}
        what={name || id}
        consequence={t(`${family}.remove_text`)}
        act={() => drop(id)}
      />
    )),
  ]
  const caption = t(`${family}.title`)
  return <Table caption={caption} columns={columns} rows={rows} keyOf={({ id }) => id} />
}
