import { useState } from "react"
import type { OIDCSettings } from "../../../src/gen/core/settings/v1/settings_pb.ts"
import type { WebKey } from "../../../src/gen/core/webkey/v2/webkey_pb.ts"
import { Badge } from "../../kit/badge.tsx"
import { Button } from "../../kit/button.tsx"
import { Dialog } from "../../kit/dialog.tsx"
import { SelectField } from "../../kit/select.tsx"
import { type Column, Table } from "../../kit/table.tsx"
import { ActionButton, ConfirmButton } from "../confirm.tsx"
import { unlessDenied } from "../core.ts"
import { Detail } from "../detail.tsx"
import { ActionForm, useSaving } from "../form.tsx"
import { type House, useHouse } from "../house.ts"
import { readOidcSettings } from "../instance/oidc.ts"
import { Rotation } from "../instance/rotation.tsx"
import { type KindName, kindNames, kindOf, kinds, stateOf, turnOf } from "../instance/web-key.ts"
import { type Changed, useLoad } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"
import { Time } from "../time.tsx"

/** The keys that sign tokens, and how they follow one another. */
export function SigningKeysPage() {
  const house = useHouse()
  const { t, core } = house
  const [creating, setCreating] = useState(false)
  const loaded = useLoad("web keys", "", async (signal) => {
    const [{ webKeys }, settings] = await Promise.all([
      core.webKeys.listWebKeys({}, { signal }),
      unlessDenied(readOidcSettings(core, signal), undefined),
    ])
    return { webKeys, settings }
  })
  const create = <Button onClick={() => setCreating(true)}>{t("web_keys.create")}</Button>
  const close = () => setCreating(false)
  return (
    <Detail loaded={loaded} crumbs={[]}>
      {({ webKeys, settings }) => (
        <PageFrame title={t("nav.signing-keys")} owner={t("nav.instance")} actions={create}>
          <p className="quiet section-lead">{t("web_keys.lead")}</p>
          <Table
            caption={t("nav.signing-keys")}
            columns={columnsOf({ house, settings, onChanged: loaded.reload })}
            rows={[...webKeys].sort(byState)}
            keyOf={({ id }) => id}
          />
          {settings && <Rotation settings={settings} onChanged={loaded.reload} />}
          {creating && <Create onMade={loaded.reload} onClose={close} />}
        </PageFrame>
      )}
    </Detail>
  )
}

const order = { active: 0, next: 1, retired: 2 } as const
const byState = (a: WebKey, b: WebKey) => order[stateOf(a)] - order[stateOf(b)]

const tones = { active: "done", next: "quiet", retired: "quiet" } as const

type TableProps = {
  readonly house: House
  readonly settings: OIDCSettings | undefined
  readonly onChanged: Changed
}

const columnsOf = ({ house, settings, onChanged }: TableProps): readonly Column<WebKey>[] => {
  const { t } = house
  return [
    { label: t("web_keys.kind"), cell: (key) => kindOf(key) },
    {
      label: t("field.state"),
      cell: (key) => <Badge tone={tones[stateOf(key)]}>{t(`web_keys.${stateOf(key)}`)}</Badge>,
    },
    { label: t("field.created"), cell: ({ creationDate }) => <Time at={creationDate} /> },
    { label: t("web_keys.turn"), cell: (key) => <Time at={turnOf(key, settings)} /> },
    { label: t("keys.id"), cell: ({ id }) => <code>{id}</code> },
    { label: "", cell: (key) => <Actions webKey={key} onChanged={onChanged} /> },
  ]
}

type ActionsProps = { readonly webKey: WebKey; readonly onChanged: Changed }

/** The key that signs can't be taken away: another one takes its place first. */
function Actions({ webKey, onChanged }: ActionsProps) {
  const { t, core } = useHouse()
  const { id } = webKey
  if (stateOf(webKey) === "active") return null
  const activate = async () => {
    await core.webKeys.activateWebKey({ id })
    await onChanged()
  }
  const remove = async () => {
    await core.webKeys.deleteWebKey({ id })
    await onChanged()
  }
  return (
    <div className="row-actions">
      <ActionButton plain label={t("action.activate")} act={activate} />
      <ConfirmButton
        label={t("action.remove")}
        what={kindOf(webKey)}
        consequence={t("web_keys.remove_text")}
        act={remove}
      />
    </div>
  )
}

type CreateProps = { readonly onMade: Changed; readonly onClose: () => void }

function Create({ onMade, onClose }: CreateProps) {
  const { t, core } = useHouse()
  const [kind, setKind] = useState<KindName>("RS256 · RSA 2048")
  const action = useSaving(() => core.webKeys.createWebKey({ key: kinds[kind] }), onMade, onClose)
  const title = t("web_keys.create")
  return (
    <Dialog title={title} onClose={onClose}>
      <ActionForm action={action} submit={title} onCancel={onClose}>
        <SelectField
          label={t("web_keys.kind")}
          hint={t("web_keys.create_hint")}
          options={kindNames.map((value) => ({ value, label: value }))}
          value={kind}
          onChange={setKind}
        />
      </ActionForm>
    </Dialog>
  )
}
