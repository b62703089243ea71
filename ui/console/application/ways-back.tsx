import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import type { Redirecting } from "../../../src/kernel/net/redirect-uri.ts"
import { Alert } from "../../kit/alert.tsx"
import { Badge } from "../../kit/badge.tsx"
import { Check } from "../../kit/check.tsx"
import { Disclosure } from "../../kit/disclosure.tsx"
import { TextArea } from "../../kit/field.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { linesOf } from "../form/lines.ts"
import { useForm } from "../form/use-form.ts"
import { Facts } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"
import { changeOidc, type OidcForm, type OidcPart } from "./change.ts"
import { hasInvalid, JudgedRedirects, JudgedReturns, wantsPrivateHttp } from "./judged.tsx"
import { appTypeOf } from "./protocol.ts"

/** Where people may be sent back to, shown and changed where it stands. */
export function WaysBack(part: OidcPart) {
  const { t } = useText()
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("applications.ways_back")}
      facts={<Addresses {...part} />}
      form={(id, close) => <UriForm {...part} {...{ id, close }} />}
    />
  )
}

function Addresses({ oidc }: OidcPart) {
  const { t } = useText()
  const { additionalOrigins, developmentMode } = oidc
  return (
    <Facts
      rows={[
        [t("field.redirect_uris"), <Uris key="back" uris={oidc.redirectUris} />],
        [t("field.post_logout_uris"), <Uris key="out" uris={oidc.postLogoutRedirectUris} />],
        [
          t("field.origins"),
          additionalOrigins.length > 0 && <Uris key="origins" uris={additionalOrigins} />,
        ],
        [t("field.private_http"), oidc.privateNetworkHttp && t("detail.on")],
        [
          t("field.development"),
          developmentMode && (
            <Badge key="development" tone="warning">
              {t("detail.on")}
            </Badge>
          ),
        ],
      ]}
    />
  )
}

function Uris({ uris }: { readonly uris: readonly string[] }) {
  const { t } = useText()
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
  readonly privateHttp: boolean
  readonly development: boolean
}

const draftOf = (oidc: OidcPart["oidc"]): Draft => ({
  back: oidc.redirectUris.join("\n"),
  out: oidc.postLogoutRedirectUris.join("\n"),
  origins: oidc.additionalOrigins.join("\n"),
  privateHttp: oidc.privateNetworkHttp,
  development: oidc.developmentMode,
})

const refusals = {
  back: ["app.redirect_uris_invalid"],
  out: ["app.post_logout_redirect_uris_invalid"],
  origins: ["app.additional_origins_invalid"],
} as const

function UriForm({ id, close, ...part }: OidcForm) {
  const { t } = useText()
  const { oidc } = part
  const form = useForm<Draft>({
    id,
    initial: draftOf(oidc),
    refusals,
    save: ({ back, out, origins, privateHttp, development }) =>
      changeOidc(part, {
        redirectUris: linesOf(back),
        postLogoutRedirectUris: linesOf(out),
        additionalOrigins: linesOf(origins),
        privateNetworkHttp: privateHttp,
        developmentMode: development,
      }),
    done: close,
  })
  const { values: draft, change } = form
  // On the wire an empty list can't be told from one that stays as it is.
  const emptied = (now: string, before: readonly string[]) =>
    before.length > 0 && linesOf(now).length === 0 ? t("form.keeps_one") : undefined
  const errors = {
    back: emptied(draft.back, oidc.redirectUris),
    out: emptied(draft.out, oidc.postLogoutRedirectUris),
    origins: emptied(draft.origins, oidc.additionalOrigins),
  }
  const { development: devMode, privateHttp } = draft
  const by = { appType: appTypeOf(oidc), devMode, privateHttp }
  const isUnfit = hasInvalid(draft.back, devMode) || hasInvalid(draft.out, devMode)
  const area = { rows: 3, spellCheck: false }
  return (
    <Fields
      form={form}
      onCancel={close}
      disabled={isUnfit || Object.values(errors).some((error) => error !== undefined)}
    >
      <TextArea
        {...area}
        label={t("field.redirect_uris")}
        hint={t("applications.redirect_hint")}
        {...form.text("back")}
        error={errors.back ?? form.errorOf("back")}
        maxLength={20_000}
      />
      <JudgedRedirects typed={draft.back} by={by} />
      <PrivateHttp typed={draft.back} {...{ by, change, was: oidc.privateNetworkHttp }} />
      <TextArea
        {...area}
        label={t("field.post_logout_uris")}
        optional={t("form.optional")}
        hint={t("applications.post_logout_hint")}
        {...form.text("out")}
        error={errors.out ?? form.errorOf("out")}
        maxLength={20_000}
      />
      <JudgedReturns typed={draft.out} by={by} />
      <MoreWays
        open={oidc.developmentMode || oidc.additionalOrigins.length > 0}
        {...{ draft, change, error: errors.origins ?? form.errorOf("origins") }}
      />
    </Fields>
  )
}

type PrivateHttpProps = {
  readonly typed: string
  readonly by: Redirecting
  /** Whether it is allowed now: then it can be taken back. */
  readonly was: boolean
  readonly change: (fields: Partial<Draft>) => void
}

/** Offered where an address asks for it. */
function PrivateHttp({ typed, by, was, change }: PrivateHttpProps) {
  const { t } = useText()
  const isOn = by.privateHttp === true
  if (!was && !isOn && !wantsPrivateHttp(typed, by)) return null
  return (
    <Check
      label={t("field.private_http")}
      hint={t("applications.private_http_hint")}
      checked={isOn}
      onChange={(privateHttp) => change({ privateHttp })}
    />
  )
}

type MoreWaysProps = {
  readonly open: boolean
  readonly draft: Draft
  readonly change: (fields: Partial<Draft>) => void
  readonly error: string | undefined
}

function MoreWays({ open, draft, change, error }: MoreWaysProps) {
  const { t } = useText()
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
        name="origins"
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
