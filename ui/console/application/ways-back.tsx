import { useState } from "react"
import { Alert } from "../../kit/alert.tsx"
import { Badge } from "../../kit/badge.tsx"
import { Check } from "../../kit/check.tsx"
import { Disclosure } from "../../kit/disclosure.tsx"
import { TextArea } from "../../kit/field.tsx"
import { ActionForm, EditSection, useSaving } from "../form.tsx"
import { useHouse } from "../house.ts"
import { linesOf } from "../lines.ts"
import { changeOidc, type OidcPart } from "./change.ts"

/** Where people may be sent back to, shown and changed where it stands. */
export function WaysBack(part: OidcPart) {
  const { t } = useHouse()
  return (
    <EditSection
      title={t("applications.ways_back")}
      facts={<Facts {...part} />}
      form={(close) => <UriForm {...part} close={close} />}
    />
  )
}

function Facts({ oidc }: OidcPart) {
  const { t } = useHouse()
  return (
    <dl className="facts">
      <dt>{t("field.redirect_uris")}</dt>
      <dd>
        <Uris uris={oidc.redirectUris} />
      </dd>
      <dt>{t("field.post_logout_uris")}</dt>
      <dd>
        <Uris uris={oidc.postLogoutRedirectUris} />
      </dd>
      {oidc.additionalOrigins.length > 0 && (
        <>
          <dt>{t("field.origins")}</dt>
          <dd>
            <Uris uris={oidc.additionalOrigins} />
          </dd>
        </>
      )}
      {oidc.developmentMode && (
        <>
          <dt>{t("field.development")}</dt>
          <dd>
            <Badge tone="warning">{t("detail.on")}</Badge>
          </dd>
        </>
      )}
    </dl>
  )
}

function Uris({ uris }: { readonly uris: readonly string[] }) {
  const { t } = useHouse()
  if (uris.length === 0) return <span className="quiet">{t("detail.none")}</span>
  return (
    <ul className="value-list">
      {uris.map((uri) => (
        <li key={uri}>
          <code>{uri}</code>
        </li>
      ))}
    </ul>
  )
}

type Draft = {
  readonly back: string
  readonly out: string
  readonly origins: string
  readonly development: boolean
}

function UriForm({ close, ...part }: OidcPart & { readonly close: () => void }) {
  const { t, core } = useHouse()
  const { oidc, onChanged } = part
  const [draft, setDraft] = useState<Draft>({
    back: oidc.redirectUris.join("\n"),
    out: oidc.postLogoutRedirectUris.join("\n"),
    origins: oidc.additionalOrigins.join("\n"),
    development: oidc.developmentMode,
  })
  const change = (fields: Partial<Draft>) => setDraft({ ...draft, ...fields })
  const save = () =>
    changeOidc(core, part, {
      redirectUris: linesOf(draft.back),
      postLogoutRedirectUris: linesOf(draft.out),
      additionalOrigins: linesOf(draft.origins),
      developmentMode: draft.development,
    })
  const action = useSaving(save, onChanged, close)
  // On the wire an empty list can't be told from one that stays as it is.
  const emptied = (now: string, before: readonly string[]) =>
    before.length > 0 && linesOf(now).length === 0 ? t("form.keeps_one") : undefined
  const errors = {
    back: emptied(draft.back, oidc.redirectUris),
    out: emptied(draft.out, oidc.postLogoutRedirectUris),
    origins: emptied(draft.origins, oidc.additionalOrigins),
  }
  const area = { rows: 3, autoComplete: "off", spellCheck: false }
  return (
    <ActionForm
      action={action}
      onCancel={close}
      disabled={Object.values(errors).some((error) => error !== undefined)}
    >
      <TextArea
        {...area}
        label={t("field.redirect_uris")}
        hint={t("applications.redirect_hint")}
        error={errors.back}
        value={draft.back}
        onChange={(event) => change({ back: event.target.value })}
      />
      <TextArea
        {...area}
        label={t("field.post_logout_uris")}
        optional={t("form.optional")}
        hint={t("applications.post_logout_hint")}
        error={errors.out}
        value={draft.out}
        onChange={(event) => change({ out: event.target.value })}
      />
      <MoreWays
        open={oidc.developmentMode || oidc.additionalOrigins.length > 0}
        {...{ draft, change, error: errors.origins }}
      />
    </ActionForm>
  )
}

type MoreWaysProps = {
  readonly open: boolean
  readonly draft: Draft
  readonly change: (fields: Partial<Draft>) => void
  readonly error: string | undefined
}

function MoreWays({ open, draft, change, error }: MoreWaysProps) {
  const { t } = useHouse()
  return (
    <Disclosure summary={t("applications.more_ways")} open={open}>
      <TextArea
        rows={2}
        autoComplete="off"
        spellCheck={false}
        label={t("field.origins")}
        optional={t("form.optional")}
        hint={t("applications.origins_hint")}
        error={error}
        value={draft.origins}
        onChange={(event) => change({ origins: event.target.value })}
      />
      <Check
        label={t("field.development")}
        hint={t("applications.development_hint")}
        checked={draft.development}
        onChange={(development) => change({ development })}
      />
      {draft.development && <Alert tone="warning">{t("problem.development_mode")}</Alert>}
    </Disclosure>
  )
}
