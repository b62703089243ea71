import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
import { Dialog } from "../kit/dialog.tsx"
import { Disclosure } from "../kit/disclosure.tsx"
import { TextArea, TextField } from "../kit/field.tsx"
import { type Column, Table } from "../kit/table.tsx"
import { ConfirmButton } from "./confirm.tsx"
import { Section } from "./detail.tsx"
import { ActionForm } from "./form.tsx"
import { useHouse } from "./house.ts"
import { type Readings, useAction, useJoined, useLoad } from "./load.ts"
import { OnceBox } from "./once-box.tsx"
import { Time } from "./time.tsx"

/** What is listed of a key or token; what it is was shown once. */
export type Credential = {
  readonly id: string
  readonly creationDate?: Timestamp | undefined
  readonly expirationDate?: Timestamp | undefined
}

/** Without a text where the holder has it already. */
export type Made = { readonly id: string; readonly text: string }

type Wanted = { readonly expirationDate: Timestamp; readonly publicKey: Uint8Array }

type CredentialsProps = {
  readonly family: "keys" | "app_keys" | "tokens"
  /** Whose they are. */
  readonly holder: string
  /** What is read again when one is made or removed, and they with it. */
  readonly readings: Readings
  readonly read: (signal: AbortSignal) => Promise<readonly Credential[]>
  readonly create: (wanted: Wanted) => Promise<Made>
  readonly remove: (id: string) => Promise<unknown>
  /** Whether somebody may bring the public half of a key of their own. */
  readonly takesPublicKey?: boolean
}

/** What those of a service user are handed. */
export type ServiceCredentialsProps = Pick<CredentialsProps, "readings"> & {
  readonly userId: string
}

/** Keys or tokens of one holder: each is made with an end, shown once, and removed. */
export function Credentials(props: CredentialsProps) {
  const { family, holder, readings, read, remove } = props
  const { t } = useHouse()
  const [made, setMade] = useState<Made | undefined>(undefined)
  const [asking, setAsking] = useState(false)
  const found = useLoad(`${family} ${holder}`, "", read)
  useJoined(readings, found.reload)
  if (found.status === "failed" && found.denied) return null
  const take = async (fresh: Made) => {
    setMade(fresh)
    await readings.reload()
    setAsking(false)
  }
  const drop = async (id: string) => {
    await remove(id)
    if (made?.id === id) setMade(undefined)
    await readings.reload()
  }
  const create = <Button onClick={() => setAsking(true)}>{t(`${family}.create`)}</Button>
  return (
    <Section title={t(`${family}.title`)} actions={create}>
      {asking && <Create {...props} onMade={take} onClose={() => setAsking(false)} />}
      {made?.text && (
        <OnceBox
          title={t(`${family}.file`)}
          secret={made.text}
          file={family === "tokens" ? `${made.id}.txt` : `${made.id}.json`}
        />
      )}
      {found.status === "failed" && <Alert tone="danger">{found.message}</Alert>}
      {found.status === "ready" && <List family={family} rows={found.value} drop={drop} />}
    </Section>
  )
}

type CreateProps = CredentialsProps & {
  readonly onMade: (made: Made) => Promise<void>
  readonly onClose: () => void
}

/** Each has an end; a year is the offer. */
function Create({ family, create, takesPublicKey, onMade, onClose }: CreateProps) {
  const { t } = useHouse()
  const [until, setUntil] = useState(dayOf(Date.now() + 365 * dayMs))
  const [publicKey, setPublicKey] = useState("")
  const action = useAction(async () => {
    const expirationDate = timestampFromMs(Date.parse(until))
    await onMade(
      await create({ expirationDate, publicKey: new TextEncoder().encode(publicKey.trim()) }),
    )
  })
  const title = t(`${family}.create`)
  return (
    <Dialog title={title} onClose={onClose}>
      <ActionForm action={action} submit={title} onCancel={onClose}>
        <TextField
          label={t("keys.until")}
          hint={t(`${family}.until_hint`)}
          type="date"
          min={dayOf(Date.now() + dayMs)}
          value={until}
          onChange={(event) => setUntil(event.target.value)}
          required
          autoFocus
        />
        {takesPublicKey && (
          <Disclosure summary={t("keys.own")}>
            <TextArea
              label={t("keys.public")}
              hint={t("keys.public_hint")}
              placeholder="-----BEGIN PUBLIC KEY-----"
              rows={5}
              value={publicKey}
              onChange={(event) => setPublicKey(event.target.value)}
              autoComplete="off"
              spellCheck={false}
            />
          </Disclosure>
        )}
      </ActionForm>
    </Dialog>
  )
}

const dayMs = 86_400_000

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10)

type ListProps = Pick<CredentialsProps, "family"> & {
  readonly rows: readonly Credential[]
  readonly drop: (id: string) => Promise<void>
}

function List({ family, rows, drop }: ListProps) {
  const { t } = useHouse()
  if (rows.length === 0) return <p className="quiet section-lead">{t(`${family}.none`)}</p>
  const columns: readonly Column<Credential>[] = [
    { label: t(`${family}.id`), cell: ({ id }) => <code>{id}</code> },
    { label: t("field.created"), cell: ({ creationDate }) => <Time at={creationDate} /> },
    { label: t("field.expires"), cell: ({ expirationDate }) => <Time at={expirationDate} /> },
    {
      label: "",
      cell: ({ id }) => (
        <div className="row-actions">
          <ConfirmButton
            label={t("action.remove")}
            what={id}
            consequence={t(`${family}.remove_text`)}
            act={() => drop(id)}
          />
        </div>
      ),
    },
  ]
  const caption = t(`${family}.title`)
  return <Table caption={caption} columns={columns} rows={rows} keyOf={({ id }) => id} />
}
