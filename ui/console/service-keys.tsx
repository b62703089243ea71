import { useState } from "react"
import type { Key } from "../../src/gen/core/user/v2/user_pb.ts"
import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
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
  const keys = useLoad(`keys ${userId}`, "", async (signal) => {
    const filter = { case: "userIdFilter", value: { id: userId } } as const
    const { result } = await core.users.listKeys({ filters: [{ filter }] }, { signal })
    return result
  })
  const add = useAction(async () => {
    const { keyId, keyContent } = await core.users.addKey({ userId })
    setMade({ id: keyId, file: new TextDecoder().decode(keyContent) })
    keys.reload()
  })
  const create = (
    <Button onClick={add.run} disabled={add.busy}>
      {t("keys.create")}
    </Button>
  )
  const texts = { copy: t("copy.do"), copied: t("copy.done"), download: t("copy.download") }
  return (
    <Section title={t("keys.title")} actions={create}>
      {add.error && <Alert tone="danger">{add.error}</Alert>}
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
      {keys.status === "ready" && <KeyList keys={keys.value} onRemoved={keys.reload} />}
    </Section>
  )
}

type KeyListProps = { readonly keys: readonly Key[]; readonly onRemoved: () => void }

function KeyList({ keys, onRemoved }: KeyListProps) {
  const { t, core } = useHouse()
  if (keys.length === 0) return <p className="quiet">{t("keys.none")}</p>
  const remove = (key: Key) => async () => {
    await core.users.removeKey({ userId: key.userId, keyId: key.id })
    onRemoved()
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
