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
import { ConfirmButton, DialogButton, defineForm } from "../form/index.ts"
import { PagePart, Section, t, useRead } from "../shell/index.ts"
import { Clip } from "./badges.tsx"
import { actionColumn } from "./listing.tsx"
import { OneTimeSecret } from "./one-time-secret.tsx"
import { Time } from "./time.tsx"

/** A listed key or token, without the secret. */
export type Credential = {
  readonly id: string
  readonly name?: string
  readonly creationDate?: Timestamp | undefined
  readonly expirationDate?: Timestamp | undefined
}

/** The text is empty if the holder already has the private key. */
export type CreatedCredential = { readonly id: string; readonly text: string }

type CredentialInput = {
  readonly name: string
  readonly expirationDate: Timestamp
  readonly publicKey: Uint8Array
}

type CredentialFamily = "keys" | "app_keys" | "tokens"

type CredentialsProps<I extends DescMessage, O extends DescMessage> = {
  readonly family: CredentialFamily
  readonly method: DescMethodUnary<I, O>
  readonly input: MessageInitShape<I>
  readonly needs: Readonly<Record<"create" | "remove", DescMethod>>
  readonly find: (answer: MessageShape<O>) => readonly Credential[]
  readonly create: (request: CredentialInput) => Promise<CreatedCredential>
  readonly remove: (id: string) => Promise<unknown>
  /** Whether users can upload a public key of their own. */
  readonly acceptsPublicKey?: boolean
}

/** Keys or tokens of one holder: created with an expiration, shown once, and removed. */
export function Credentials<I extends DescMessage, O extends DescMessage>(
  props: CredentialsProps<I, O>,
) {
  const { family, needs, remove } = props
  const [created, setMade] = useState<CreatedCredential | undefined>(undefined)
  const removeCredential = async (id: string) => {
    await remove(id)
    if (created?.id === id) setMade(undefined)
  }
  const form = createForm({ ...props, onCreated: setMade })
  const add = (
    <DialogButton family={family} form={form} needs={needs.create} label={t(`${family}.create`)} />
  )
  return (
    <Section title={t(`${family}.title`)} actions={add}>
      {created?.text && (
        <OneTimeSecret
          title={t(`${family}.file`)}
          secret={created.text}
          file={family === "tokens" ? `${created.id}.txt` : `${created.id}.json`}
        />
      )}
      <PagePart>
        <CredentialList {...props} drop={removeCredential} />
      </PagePart>
    </Section>
  )
}

/** Suggests an expiration in one year. */
const createForm = (props: CreateOptions) =>
  defineForm({
    initial: { name: "", until: toDay(Date.now() + 365 * dayMs), publicKey: "" },
    refusals: { publicKey: ["key.public"], until: ["key.expir", "token.expir"] },
    save: ({ name, until, publicKey }) => {
      const expirationDate = timestampFromMs(Date.parse(until))
      const own = new TextEncoder().encode(publicKey.trim())
      return props.create({ name, expirationDate, publicKey: own })
    },
    done: (created, close) => {
      props.onCreated(created)
      close()
    },
    fields: ({ text, area }) => [
      props.family === "tokens" &&
        text("name", t("field.name"), { hint: t("tokens.name_hint"), maxLength: 200 }),
      text("until", t("keys.until"), {
        hint: t(`${props.family}.until_hint`),
        type: "date",
        min: toDay(Date.now() + dayMs),
        required: true,
      }),
      props.acceptsPublicKey && (
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

type CreateOptions = {
  readonly family: CredentialFamily
  readonly create: (request: CredentialInput) => Promise<CreatedCredential>
  readonly acceptsPublicKey?: boolean
  readonly onCreated: (created: CreatedCredential) => void
}

const dayMs = 86_400_000

const toDay = (time: number) => new Date(time).toISOString().slice(0, 10)

type CredentialListProps<I extends DescMessage, O extends DescMessage> = CredentialsProps<I, O> & {
  readonly drop: (id: string) => Promise<void>
}

function CredentialList<I extends DescMessage, O extends DescMessage>(
  props: CredentialListProps<I, O>,
) {
  const { family, method, input, find, needs, drop: removeCredential } = props
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
        subject={name || id}
        consequence={t(`${family}.remove_text`)}
        act={() => removeCredential(id)}
      />
    )),
  ]
  const caption = t(`${family}.title`)
  return <Table caption={caption} columns={columns} rows={rows} keyOf={({ id }) => id} />
}
