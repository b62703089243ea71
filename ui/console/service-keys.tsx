import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import type { Key } from "../../src/gen/core/user/v2/user_pb.ts"
import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
import { Dialog } from "../kit/dialog.tsx"
import { TextField } from "../kit/field.tsx"
import { SecretBox } from "../kit/secret-box.tsx"
import { type Column, Table } from "../kit/table.tsx"
import { ActionButton } from "./confirm.tsx"
import { Section } from "./detail.tsx"
import { useHouse } from "./house.ts"
import { useAction, useLoad } from "./load.ts"
import { Time } from "./time.tsx"

type NewKey = { readonly id: string; readonly file: string }

/** The keys with which a service user signs its assertions. */
export function ServiceKeys({ userId }: { readonly userId: string }) {
  const { t, core } = useHouse()
  const [made, setMade] = useState<NewKey | undefined>(undefined)
  const [asking, setAsking] = useState(false)
  const keys = useLoad(`keys ${userId}`, "", async (signal) => {
    const filter = { case: "userIdFilter", value: { id: userId } } as const
    const { result } = await core.users.listKeys({ filters: [{ filter }] }, { signal })
    return result
  })
  const take = (key: NewKey) => {
    setMade(key)
    setAsking(false)
    keys.reload()
  }
  const forget = (keyId: string) => {
    if (made?.id === keyId) setMade(undefined)
    keys.reload()
  }
  const create = <Button onClick={() => setAsking(true)}>{t("keys.create")}</Button>
  const texts = { copy: t("copy.do"), copied: t("copy.done"), download: t("copy.download") }
  return (
    <Section title={t("keys.title")} actions={create}>
      {asking && <CreateKey userId={userId} onMade={take} onClose={() => setAsking(false)} />}
      {made && (
        <SecretBox
          title={t("keys.file")}
          warning={t("secret.once")}
          secret={made.file}
          file={`${made.id}.json`}
          texts={texts}
        />
      )}
      {keys.status === "failed" && <Alert tone="danger">{keys.message}</Alert>}
      {keys.status === "ready" && <KeyList keys={keys.value} onRemoved={forget} />}
    </Section>
  )
}

type CreateKeyProps = {
  readonly userId: string
  readonly onMade: (key: NewKey) => void
  readonly onClose: () => void
}

/** Every key has an end; a year is the offer. */
function CreateKey({ userId, onMade, onClose }: CreateKeyProps) {
  const { t, core } = useHouse()
  const [until, setUntil] = useState(dayOf(Date.now() + 365 * dayMs))
  const action = useAction(async () => {
    const expirationDate = timestampFromMs(Date.parse(until))
    const { keyId, keyContent } = await core.users.addKey({ userId, expirationDate })
    onMade({ id: keyId, file: new TextDecoder().decode(keyContent) })
  })
  return (
    <Dialog title={t("keys.create")} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          action.run()
        }}
      >
        <TextField
          label={t("keys.until")}
          hint={t("keys.until_hint")}
          error={action.error}
          type="date"
          min={dayOf(Date.now() + dayMs)}
          value={until}
          onChange={(event) => setUntil(event.target.value)}
          required
          autoFocus
        />
        <div className="form-actions">
          <Button kind="primary" type="submit" disabled={action.busy}>
            {t("keys.create")}
          </Button>
          <Button onClick={onClose}>{t("form.cancel")}</Button>
        </div>
      </form>
    </Dialog>
  )
}

const dayMs = 86_400_000

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10)

type KeyListProps = {
  readonly keys: readonly Key[]
  readonly onRemoved: (keyId: string) => void
}

function KeyList({ keys, onRemoved }: KeyListProps) {
  const { t, core } = useHouse()
  if (keys.length === 0) return <p className="quiet">{t("keys.none")}</p>
  const remove = (key: Key) => async () => {
    await core.users.removeKey({ userId: key.userId, keyId: key.id })
    onRemoved(key.id)
  }
  const columns: readonly Column<Key>[] = [
    { label: t("field.key_id"), cell: (key) => <code>{key.id}</code> },
    { label: t("field.created"), cell: (key) => <Time at={key.creationDate} /> },
    { label: t("field.expires"), cell: (key) => <Time at={key.expirationDate} /> },
    {
      label: t("field.action"),
      cell: (key) => <ActionButton small label={t("keys.remove")} act={remove(key)} />,
    },
  ]
  return <Table caption={t("keys.title")} columns={columns} rows={keys} keyOf={(key) => key.id} />
}
