import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { OIDCSettings } from "../../../src/gen/core/settings/v1/settings_pb.ts"
import type { WebKey } from "../../../src/gen/core/webkey/v2/webkey_pb.ts"
import { WebKeyService } from "../../../src/gen/core/webkey/v2/webkey_service_pb.ts"
import { Badge, type Column, Table } from "../../kit/index.ts"
import { ActionButton, ConfirmButton, DialogButton, formOf } from "../form/index.ts"
import { actionColumn, HistoryButton, streamOf, Time } from "../list/index.ts"
import { call, Page, t, useRead, useReadIfAllowed } from "../shell/index.ts"
import { Rotation } from "./key-rotation.tsx"
import { type KindName, kindNames, kindOf, kinds, stateOf, turnOf } from "./web-key.ts"

const { listWebKeys, createWebKey, activateWebKey, deleteWebKey } = WebKeyService.method

/** The keys that sign tokens, and how they follow one another. */
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
        columns={columnsOf(settings)}
        rows={[...webKeys].sort(byState)}
        keyOf={({ id }) => id}
      />
      {settings && <Rotation settings={settings} />}
    </Page>
  )
}

const order = { active: 0, next: 1, retired: 2 } as const
const byState = (a: WebKey, b: WebKey) => order[stateOf(a)] - order[stateOf(b)]

const tones = { active: "done", next: "quiet", retired: "quiet" } as const

const columnsOf = (settings: OIDCSettings | undefined): readonly Column<WebKey>[] => [
  { label: t("web_keys.kind"), cell: (key) => kindOf(key) },
  {
    label: t("field.state"),
    cell: (key) => <Badge tone={tones[stateOf(key)]}>{t(`web_keys.${stateOf(key)}`)}</Badge>,
  },
  { label: t("field.created"), cell: ({ creationDate }) => <Time at={creationDate} /> },
  { label: t("web_keys.turn"), cell: (key) => <Time at={turnOf(key, settings)} /> },
  { label: t("keys.id"), cell: ({ id }) => <code>{id}</code> },
  actionColumn((key) => (
    <>
      <HistoryButton of={streamOf("web_key", key.id)} name={`${kindOf(key)} ${key.id}`} />
      <Actions webKey={key} />
    </>
  )),
]

/** The key that signs can't be taken away: another one takes its place first. */
function Actions({ webKey }: { readonly webKey: WebKey }) {
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
        what={kindOf(webKey)}
        consequence={t("web_keys.remove_text")}
        act={() => call(deleteWebKey, { id })}
      />
    </>
  )
}

const createForm = () =>
  formOf<{ readonly kind: KindName }, unknown>({
    initial: { kind: "RS256 · RSA 2048" },
    save: ({ kind }) => call(createWebKey, { key: kinds[kind] }),
    fields: ({ select }) =>
      select("kind", t("web_keys.kind"), {
        hint: t("web_keys.create_hint"),
        of: kindNames,
        words: (kind) => kind,
      }),
  })
