import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { OIDCSettings } from "../../../src/gen/core/settings/v1/settings_pb.ts"
import type { WebKey } from "../../../src/gen/core/webkey/v2/webkey_pb.ts"
import { WebKeyService } from "../../../src/gen/core/webkey/v2/webkey_service_pb.ts"
import { Badge, type Column, Table } from "../../kit/index.ts"
import { ActionButton, ConfirmButton, DialogButton, defineForm } from "../form/index.ts"
import { actionColumn, HistoryButton, streamResource, Time } from "../list/index.ts"
import { call, Page, t, useRead, useReadIfAllowed } from "../shell/index.ts"
import { KeyRotation } from "./key-rotation.tsx"
import { type KindName, keyKinds, keyLabel, kindNames, nextRotation, stateOf } from "./web-key.ts"

const { listWebKeys, createWebKey, activateWebKey, deleteWebKey } = WebKeyService.method

/** The keys that sign tokens, and their rotation. */
export function SigningKeysPage() {
  const { webKeys } = useRead(listWebKeys)
  const settings = useReadIfAllowed(AdminService.method.getOIDCSettings)?.settings
  const create = (
    <DialogButton
      needs={createWebKey}
      family="web_keys"
      label={t("web_keys.create")}
      form={createForm()}
    />
  )
  return (
    <Page title={t("nav.signing-keys")} owner={t("nav.instance")} actions={create}>
      <p className="quiet section-lead">{t("web_keys.lead")}</p>
      <Table
        caption={t("nav.signing-keys")}
        columns={keyColumns(settings)}
        rows={[...webKeys].sort(compareByState)}
        keyOf={({ id }) => id}
      />
      {settings && <KeyRotation settings={settings} />}
    </Page>
  )
}

const stateOrder = { active: 0, next: 1, retired: 2 } as const
const compareByState = (a: WebKey, b: WebKey) => stateOrder[stateOf(a)] - stateOrder[stateOf(b)]

const tones = { active: "done", next: "quiet", retired: "quiet" } as const

const keyColumns = (settings: OIDCSettings | undefined): readonly Column<WebKey>[] => [
  { label: t("web_keys.kind"), cell: (key) => keyLabel(key) },
  {
    label: t("field.state"),
    cell: (key) => <Badge tone={tones[stateOf(key)]}>{t(`web_keys.${stateOf(key)}`)}</Badge>,
  },
  { label: t("field.created"), cell: ({ creationDate }) => <Time at={creationDate} /> },
  { label: t("web_keys.turn"), cell: (key) => <Time at={nextRotation(key, settings)} /> },
  { label: t("keys.id"), cell: ({ id }) => <code>{id}</code> },
  actionColumn((key) => (
    <>
      <HistoryButton of={streamResource("web_key", key.id)} name={`${keyLabel(key)} ${key.id}`} />
      <KeyActions webKey={key} />
    </>
  )),
]

/** The active key can't be removed; another one must be activated first. */
function KeyActions({ webKey }: { readonly webKey: WebKey }) {
  const { id } = webKey
  if (stateOf(webKey) === "active") return null
  return (
    <>
      <ActionButton
        small
        needs={activateWebKey}
        label={t("action.activate")}
        act={() => call(activateWebKey, { id })}
      />
      <ConfirmButton
        small
        needs={deleteWebKey}
        subject={keyLabel(webKey)}
        consequence={t("web_keys.remove_text")}
        act={() => call(deleteWebKey, { id })}
      />
    </>
  )
}

const createForm = () =>
  defineForm<{ readonly kind: KindName }, unknown>({
    initial: { kind: "RS256 · RSA 2048" },
    save: ({ kind }) => call(createWebKey, { key: keyKinds[kind] }),
    fields: ({ select }) =>
      select("kind", t("web_keys.kind"), {
        hint: t("web_keys.create_hint"),
        of: kindNames,
        label: (kind) => kind,
      }),
  })
