import { lazyRouteComponent, useNavigate, useParams } from "@tanstack/react-router"
import { useState } from "react"
import {
  OIDCApplicationType,
  OIDCAuthMethodType,
  OIDCGrantType,
  OIDCResponseType,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { ProjectFieldName } from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { Alert, Choice, Disclosure } from "../../kit/index.ts"
import { type Controls, formOf, linesOf, verbatim } from "../form/index.ts"
import { OneTimeSecret } from "../list/index.ts"
import {
  type Crumb,
  call,
  LinkButton,
  Page,
  Part,
  t,
  useBelongsTo,
  useOrganization,
  useRead,
} from "../shell/index.ts"
import { kindOf } from "./application-list.tsx"
import { groupsClaims, pkceRules } from "./protocol.ts"
import { isForProxies } from "./proxy-snippets.ts"
import {
  hasInvalid,
  PostLogoutUriVerdicts,
  RedirectUriVerdicts,
  wantsPrivateHttp,
} from "./uri-verdicts.tsx"

const kinds = ["web", "user_agent", "native", "api", "saml"] as const
type Kind = (typeof kinds)[number]

/** What kinds of OpenID Connect mean in the protocol: only the first can keep a secret. */
const protocol = {
  web: {
    applicationType: OIDCApplicationType.OIDC_APP_TYPE_WEB,
    authMethodType: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_BASIC,
  },
  user_agent: {
    applicationType: OIDCApplicationType.OIDC_APP_TYPE_USER_AGENT,
    authMethodType: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_NONE,
  },
  native: {
    applicationType: OIDCApplicationType.OIDC_APP_TYPE_NATIVE,
    authMethodType: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_NONE,
  },
} as const satisfies Record<Exclude<Kind, "api" | "saml">, unknown>

const blank = {
  kind: "web",
  projectName: "",
  name: "",
  redirectUris: "",
  postLogoutUris: "",
  metadata: "",
  clientId: "",
  clientSecret: "",
  privateHttp: false,
  pkce: false,
  refresh: false,
  readsIdToken: "yes",
  lists: "no",
} as const

type Values = {
  readonly kind: Kind
  readonly projectId: string
  /** What a project is called that is made with it, where there is none to choose. */
  readonly projectName: string
  readonly name: string
  readonly redirectUris: string
  readonly postLogoutUris: string
  /** Of a SAML application: the XML, or where it can be fetched. */
  readonly metadata: string
  /** Chosen by the administrator; generated where empty. */
  readonly clientId: string
  readonly clientSecret: string
  readonly privateHttp: boolean
  /** Of an application with a secret; all others must use PKCE in any case. */
  readonly pkce: boolean
  readonly refresh: boolean
  /** Whether it reads the profile from ID tokens only. */
  readonly readsIdToken: "yes" | "no"
  /** The flat list of roles that it needs. */
  readonly lists: "no" | "groups" | "roles"
}

type Created = { readonly applicationId: string; readonly name: string; readonly secret: string }

const Connect = lazyRouteComponent(() => import("./connect.tsx"), "Connect")

/** A new application of one project. */
export function NewApplicationPage() {
  const { projectId } = useParams({ from: "/projects/$projectId/new-application" })
  const { project } = useRead(ProjectService.method.getProject, { projectId })
  useBelongsTo(project?.organizationId)
  const name = project?.name ?? projectId
  const crumbs = [
    { label: t("nav.projects"), link: { to: "/projects" } },
    { label: name, link: { to: "/projects/$projectId", params: { projectId } } },
  ] as const
  return <NewApplication crumbs={crumbs} projects={[{ projectId, name }]} />
}

/** A new application of any project of the organisation, or of a new one. */
export function AnyNewApplicationPage() {
  const { id: organizationId } = useOrganization()
  const own = { case: "organizationIdFilter", value: { organizationId } } as const
  const { projects } = useRead(ProjectService.method.listProjects, {
    pagination: { limit: 500, asc: true },
    sortingColumn: ProjectFieldName.NAME,
    // Our own project is none to put an application into.
    filters: [{ filter: own }, { filter: { case: "internalFilter", value: false } }],
  })
  const crumbs = [{ label: t("nav.applications"), link: { to: "/applications" } }] as const
  const owned = projects.filter((one) => one.grantedOrganizationId === undefined)
  return <NewApplication key={organizationId} crumbs={crumbs} projects={owned} canCreate />
}

type Project = { readonly projectId: string; readonly name: string }

type NewApplicationProps = {
  readonly crumbs: readonly Crumb[]
  /** Those it may belong to; it is asked where there are several. */
  readonly projects: readonly Project[]
  readonly canCreate?: boolean
}

/** Which kind, what it is called, where it returns to; then how to connect it. */
function NewApplication({ crumbs, ...form }: NewApplicationProps) {
  const [created, setCreated] = useState<Created | undefined>(undefined)
  const title = created ? created.name : t("applications.create")
  return (
    <Page title={title} crumbs={crumbs} narrow>
      {created ? <Done {...created} /> : <NewForm {...form} onCreated={setCreated} />}
    </Page>
  )
}

function Done({ applicationId, name, secret }: Created) {
  const { application } = useRead(ApplicationService.method.getApplication, { applicationId })
  return (
    <div className="stack stack-wide">
      <Alert tone="done">{t(createdText(application && kindOf(application), secret !== ""))}</Alert>
      {secret && (
        <OneTimeSecret
          title={t("secret.client")}
          secret={secret}
          file={`${name}-client-secret.txt`}
        />
      )}
      {application && (
        <Part rows={5}>
          <Connect application={application} secret={secret || undefined} />
        </Part>
      )}
      <div className="row">
        <LinkButton kind="primary" to="/applications/$applicationId" params={{ applicationId }}>
          {t("applications.open")}
        </LinkButton>
      </div>
    </div>
  )
}

function createdText(kind: Kind | undefined, hasSecret: boolean) {
  if (kind === "saml") return "saml.created"
  return hasSecret ? "applications.created" : "new_application.created"
}

const { createApplication } = ApplicationService.method

type FormProps = Omit<NewApplicationProps, "crumbs"> & {
  readonly onCreated: (created: Created) => void
}

function NewForm({ projects, canCreate, onCreated }: FormProps) {
  const { id: organizationId } = useOrganization()
  const navigate = useNavigate()
  const initial: Values = { ...blank, projectId: projects[0]?.projectId ?? "" }
  const form = formOf({
    initial,
    secret: ["clientSecret"],
    refusals: {
      name: ["app.name", "app.exists"],
      redirectUris: ["app.redirect_uris_invalid"],
      postLogoutUris: ["app.post_logout_redirect_uris_invalid"],
      metadata: ["app.metadata", "app.entity_id"],
      clientId: ["app.client_id"],
      clientSecret: ["app.client_secret"],
      projectName: ["project."],
    },
    save: async (values) => {
      const projectId = values.projectId || (await createProject(organizationId, values))
      const wanted = requestOf(projectId, values)
      return { name: wanted.name, made: await call(createApplication, wanted) }
    },
    done: ({ name, made: { applicationId, applicationType: made } }) => {
      const hasSecret = made.case === "oidcConfiguration" || made.case === "apiConfiguration"
      onCreated({ applicationId, name, secret: hasSecret ? made.value.clientSecret : "" })
    },
    submit: t("applications.create"),
    disabled: isUnfit,
    fields: (controls) => [
      canCreate && projectFields(controls, projects),
      <Choice
        key="kind"
        legend={t("applications.kind")}
        name="kind"
        options={kinds.map((value) => ({
          value,
          label: t(`kind.${value}`),
          hint: t(`kind.${value}.hint`),
        }))}
        value={controls.values.kind}
        onChange={(kind) => controls.change({ kind, refresh: kind === "native" })}
      />,
      controls.text("name", t("field.name"), { hint: t("applications.name_hint"), required: true }),
      isOidc(controls.values.kind) && signInFields(controls, controls.values.kind),
      controls.values.kind === "saml" &&
        controls.area("metadata", t("saml.metadata"), {
          hint: t("saml.metadata_hint"),
          placeholder: "https://app.example.org/saml/metadata",
          rows: 5,
          maxLength: 500_000,
          spellCheck: false,
          required: true,
        }),
      controls.values.kind !== "saml" && credentialFields(controls),
    ],
  })
  return form({ id: "new-application", close: () => void navigate({ to: "/applications" }) })
}

async function createProject(organizationId: string, { projectName }: Values): Promise<string> {
  const wanted = { organizationId, name: projectName.trim() }
  return (await call(ProjectService.method.createProject, wanted)).projectId
}

/** The project that it belongs to; one that is new needs a name. */
function projectFields(controls: Controls<Values>, projects: readonly Project[]) {
  const ids = projects.map(({ projectId }) => projectId)
  const names = new Map(projects.map(({ projectId, name }) => [projectId, name]))
  const hint = t("projects.name_hint")
  return [
    projects.length > 0 &&
      controls.select("projectId", t("applications.project"), {
        of: [...ids, ""],
        words: (id) => names.get(id) ?? t("applications.new_project"),
      }),
    controls.values.projectId === "" &&
      controls.text("projectName", t("applications.project_name"), { hint, required: true }),
  ]
}

/** An API only checks tokens that others got: nobody is sent back to it. */
const isOidc = (kind: Kind): kind is keyof typeof protocol => Object.hasOwn(protocol, kind)

const isUnfit = ({ kind, redirectUris, postLogoutUris }: Values) =>
  isOidc(kind) && (hasInvalid(redirectUris, false) || hasInvalid(postLogoutUris, false))

const uris = { maxLength: 20_000, spellCheck: false } as const

function signInFields(controls: Controls<Values>, kind: keyof typeof protocol) {
  const { values, area, check, choice } = controls
  const { privateHttp } = values
  const by = { appType: kind, devMode: false, privateHttp } as const
  return [
    area("redirectUris", t("field.redirect_uris"), {
      hint: t("new_application.redirect_hint"),
      placeholder:
        kind === "native" ? "com.example.app:/callback" : "https://app.example.org/callback",
      ...uris,
      rows: 3,
      required: true,
    }),
    <RedirectUriVerdicts key="judged" typed={values.redirectUris} by={by} />,
    (privateHttp || wantsPrivateHttp(values.redirectUris, by)) &&
      check("privateHttp", t("field.private_http"), t("new_application.private_http_hint")),
    area("postLogoutUris", t("field.post_logout_uris"), {
      ...uris,
      rows: 2,
      optional: true,
      hint: t("new_application.post_logout_hint"),
    }),
    <PostLogoutUriVerdicts key="returns" typed={values.postLogoutUris} by={by} />,
    choice("readsIdToken", t("new_application.reads_id_token"), {
      of: ["yes", "no"],
      words: (one) => t(`new_application.reads_id_token.${one}`),
      hints: (one) => t(`new_application.reads_id_token.${one}.hint`),
    }),
    choice("lists", t("new_application.lists"), {
      of: ["no", "groups", "roles"],
      words: (one) => t(`new_application.lists.${one}`),
      hints: (one) => t(`new_application.lists.${one}.hint`),
    }),
    check("refresh", t("grant.refresh_token"), t("grant.refresh_token.hint")),
    kind === "web" && check("pkce", t("pkce.check"), t("pkce.hint")),
  ]
}

/** What is generated unless the application was configured before it is created here. */
function credentialFields({ values, text, secret }: Controls<Values>) {
  return (
    <Disclosure key="credentials" summary={t("new_application.credentials")}>
      {text("clientId", t("field.client_id"), {
        ...verbatim,
        maxLength: 100,
        optional: true,
        hint: t("new_application.client_id_hint"),
      })}
      {(values.kind === "web" || values.kind === "api") &&
        secret("clientSecret", t("applications.client_secret"), {
          maxLength: 256,
          optional: true,
          hint: t("new_application.client_secret_hint"),
        })}
    </Disclosure>
  )
}

function requestOf(projectId: string, draft: Values) {
  const name = draft.name.trim()
  const hasSecret = draft.kind === "web" || draft.kind === "api"
  const credentials = {
    clientId: draft.clientId.trim(),
    clientSecret: hasSecret ? draft.clientSecret : "",
  }
  if (draft.kind === "api") {
    const applicationType = { case: "apiConfiguration", value: credentials } as const
    return { projectId, name, applicationType }
  }
  if (draft.kind === "saml") {
    const value = { metadata: metadataOf(draft.metadata.trim()) }
    const applicationType = { case: "samlConfiguration", value } as const
    return { projectId, name, applicationType }
  }
  const value = {
    ...protocol[draft.kind],
    ...(isSecretless(draft) && { authMethodType: protocol.native.authMethodType }),
    ...credentials,
    redirectUris: linesOf(draft.redirectUris),
    postLogoutRedirectUris: linesOf(draft.postLogoutUris),
    privateNetworkHttp: draft.privateHttp,
    ...(draft.kind === "web" && usesPkce(draft) && { pkce: pkceRules.required }),
    // The API's own default is off.
    idTokenUserinfoAssertion: draft.readsIdToken === "yes",
    ...(draft.lists !== "no" && { groupsClaim: groupsClaims[draft.lists] }),
    responseTypes: [OIDCResponseType.OIDC_RESPONSE_TYPE_CODE],
    grantTypes: [
      OIDCGrantType.OIDC_GRANT_TYPE_AUTHORIZATION_CODE,
      ...(draft.refresh ? [OIDCGrantType.OIDC_GRANT_TYPE_REFRESH_TOKEN] : []),
    ],
  }
  const applicationType = { case: "oidcConfiguration", value } as const
  return { projectId, name, applicationType }
}

/** Sign-ins for a proxy are the server's own requests, which always use PKCE. */
const usesPkce = ({ pkce, redirectUris }: Values): boolean =>
  pkce || isForProxies(linesOf(redirectUris))

/** Nobody would use the secret of an application that only signs in for proxies. */
const isSecretless = ({ clientSecret, redirectUris }: Values): boolean =>
  clientSecret === "" && isForProxies(linesOf(redirectUris))

const metadataOf = (typed: string) =>
  /^https?:/.test(typed)
    ? ({ case: "metadataUrl", value: typed } as const)
    : ({ case: "metadataXml", value: new TextEncoder().encode(typed) } as const)
