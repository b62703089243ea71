import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Alert, Badge, Disclosure } from "../../kit/index.ts"
import { EditSection, formOf, lineList, linesOf } from "../form/index.ts"
import { Facts, t, ValueList } from "../shell/index.ts"
import { appTypeOf } from "./protocol.ts"
import { changeOidc, type OidcPart } from "./update-application.ts"
import {
  hasInvalid,
  PostLogoutUriVerdicts,
  RedirectUriVerdicts,
  wantsPrivateHttp,
} from "./uri-verdicts.tsx"

/** Where people may be sent back to, shown and changed where it stands. */
export function RedirectUris(part: OidcPart) {
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("applications.ways_back")}
      facts={<Addresses {...part} />}
      form={uriForm(part)}
    />
  )
}

function Addresses({ oidc }: OidcPart) {
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
  if (uris.length === 0) return <span className="quiet">{t("detail.none")}</span>
  return <ValueList code values={uris} />
}

const draftOf = (oidc: OidcPart["oidc"]) => ({
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

function uriForm(part: OidcPart) {
  const { oidc } = part
  // On the wire an empty list can't be told from one that stays as it is.
  const emptied = (now: string, before: readonly string[]) =>
    before.length > 0 && linesOf(now).length === 0 ? t("form.keeps_one") : undefined
  const errorsOf = ({ back, out, origins }: ReturnType<typeof draftOf>) => ({
    back: emptied(back, oidc.redirectUris),
    out: emptied(out, oidc.postLogoutRedirectUris),
    origins: emptied(origins, oidc.additionalOrigins),
  })
  const area = { rows: 3, spellCheck: false, maxLength: 20_000 } as const
  return formOf({
    initial: draftOf(oidc),
    lists: { back: lineList, out: lineList, origins: lineList },
    refusals,
    save: ({ back, out, origins, privateHttp, development }) =>
      changeOidc(part, {
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
      const asks = oidc.privateNetworkHttp || privateHttp || wantsPrivateHttp(values.back, by)
      return [
        controls.area("back", t("field.redirect_uris"), {
          ...area,
          hint: t("new_application.redirect_hint"),
          error: error.back,
        }),
        <RedirectUriVerdicts key="judged" typed={values.back} by={by} />,
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
        <PostLogoutUriVerdicts key="returns" typed={values.out} by={by} />,
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
