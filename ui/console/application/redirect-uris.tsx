import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Alert, Badge, Disclosure } from "../../kit/index.ts"
import { defineForm, EditSection, lineList, linesOf } from "../form/index.ts"
import { Facts, t, ValueList } from "../shell/index.ts"
import { appTypeOf } from "./protocol.ts"
import { type OidcPart, updateOidc } from "./update-application.ts"
import {
  hasInvalid,
  needsPrivateHttp,
  PostLogoutUriVerdicts,
  RedirectUriVerdicts,
} from "./uri-verdicts.tsx"

/** Redirect URIs, sign-out URIs and origins, with inline editing. */
export function RedirectUris(part: OidcPart) {
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("applications.ways_back")}
      facts={<UriFacts {...part} />}
      form={uriForm(part)}
    />
  )
}

function UriFacts({ oidc }: OidcPart) {
  const { additionalOrigins, developmentMode } = oidc
  return (
    <Facts
      rows={[
        [t("field.redirect_uris"), <UriList key="back" uris={oidc.redirectUris} />],
        [t("field.post_logout_uris"), <UriList key="out" uris={oidc.postLogoutRedirectUris} />],
        [
          t("field.origins"),
          additionalOrigins.length > 0 && <UriList key="origins" uris={additionalOrigins} />,
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

function UriList({ uris }: { readonly uris: readonly string[] }) {
  if (uris.length === 0) return <span className="quiet">{t("detail.none")}</span>
  return <ValueList code values={uris} />
}

const toFormValues = (oidc: OidcPart["oidc"]) => ({
  back: oidc.redirectUris.join("\n"),
  out: oidc.postLogoutRedirectUris.join("\n"),
  origins: oidc.additionalOrigins.join("\n"),
  privateHttp: oidc.privateNetworkHttp,
  development: oidc.developmentMode,
})

const fieldErrorIds = {
  back: ["app.redirect_uris_invalid"],
  out: ["app.post_logout_redirect_uris_invalid"],
  origins: ["app.additional_origins_invalid"],
} as const

function uriForm(part: OidcPart) {
  const { oidc } = part
  // On the wire, an empty list means unchanged, so emptying is a separate flag.
  const emptied = (now: string, before: readonly string[]) =>
    before.length > 0 && linesOf(now).length === 0 ? t("form.keeps_one") : undefined
  const errorsOf = ({ back, out, origins }: ReturnType<typeof toFormValues>) => ({
    back: emptied(back, oidc.redirectUris),
    out: emptied(out, oidc.postLogoutRedirectUris),
    origins: emptied(origins, oidc.additionalOrigins),
  })
  const area = { rows: 3, spellCheck: false, maxLength: 20_000 } as const
  return defineForm({
    initial: toFormValues(oidc),
    lists: { back: lineList, out: lineList, origins: lineList },
    refusals: fieldErrorIds,
    save: ({ back, out, origins, privateHttp, development }) =>
      updateOidc(part, {
        redirectUris: linesOf(back),
        postLogoutRedirectUris: linesOf(out),
        additionalOrigins: linesOf(origins),
        privateNetworkHttp: privateHttp,
        developmentMode: development,
      }),
    disabled: (values) =>
      hasInvalid(values.back, values.development) ||
      hasInvalid(values.out, values.development) ||
      Object.values(errorsOf(values)).some((error) => error !== undefined),
    fields: (controls) => {
      const { values } = controls
      const { development: devMode, privateHttp } = values
      const by = { appType: appTypeOf(oidc), devMode, privateHttp }
      const error = errorsOf(values)
      const asks = oidc.privateNetworkHttp || privateHttp || needsPrivateHttp(values.back, by)
      return [
        controls.area("back", t("field.redirect_uris"), {
          ...area,
          hint: t("new_application.redirect_hint"),
          error: error.back,
        }),
        <RedirectUriVerdicts key="judged" typed={values.back} context={by} />,
        asks &&
          controls.check(
            "privateHttp",
            t("field.private_http"),
            t("new_application.private_http_hint"),
          ),
        controls.area("out", t("field.post_logout_uris"), {
          ...area,
          optional: true,
          error: error.out,
          hint: t("new_application.post_logout_hint"),
        }),
        <PostLogoutUriVerdicts key="returns" typed={values.out} context={by} />,
        <Disclosure
          key="more"
          summary={t("applications.more_ways")}
          open={oidc.developmentMode || oidc.additionalOrigins.length > 0}
        >
          {controls.area("origins", t("field.origins"), {
            ...area,
            rows: 2,
            optional: true,
            error: error.origins,
            hint: t("new_application.origins_hint"),
          })}
          {controls.check(
            "development",
            t("field.development"),
            t("new_application.development_hint"),
          )}
          {devMode && <Alert tone="warning">{t("problem.development_mode")}</Alert>}
        </Disclosure>,
      ]
    },
  })
}
