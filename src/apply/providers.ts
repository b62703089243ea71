import {
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf"
import { AdminService } from "../gen/core/admin/v1/admin_service_pb.ts"
import { OptionsSchema, ProviderConfigSchema } from "../gen/core/idp/v1/idp_pb.ts"
import { ManagementService } from "../gen/core/management/v1/management_service_pb.ts"
import { sensitive } from "../gen/core/options_pb.ts"
import { normalizeDomain } from "../protocol/domain.ts"
import { changedFieldNames, differencesIn, fieldOf } from "./compare.ts"
import { documentError } from "./document.ts"
import { isObject, listAt, textAt, valueAt } from "./json.ts"
import {
  type ApplyRun,
  type DescribedItem,
  normalizeMessage,
  type ParentResource,
  requireKnownNames,
} from "./run.ts"

/** The name of each kind of provider in operations, by its name in descriptions. */
const providerKinds: Readonly<Record<string, string>> = {
  oidc: "GenericOIDC",
  oauth: "GenericOAuth",
  jwt: "JWT",
  ldap: "LDAP",
  saml: "SAML",
  azureAd: "AzureAD",
  google: "Google",
  apple: "Apple",
  github: "GitHub",
  githubEs: "GitHubEnterpriseServer",
  gitlab: "GitLab",
  gitlabSelfHosted: "GitLabSelfHosted",
}

type ApplyProvidersInput = {
  readonly items: readonly DescribedItem[]
  /** The owner of the providers; undefined for the instance. */
  readonly place?: ParentResource
}

/** The operations for the providers of the instance or of an organization. */
type ProviderOwner = {
  readonly of: string
  readonly operation: (name: string) => DescMethod
  /** Undefined if the organization has not been created yet. */
  readonly call: ((method: DescMethod, request: JsonObject) => Promise<JsonObject>) | undefined
  readonly own: JsonObject
}

/** Applies identity providers of one owner, and whether users can sign in with them. */
export async function applyProviders(
  run: ApplyRun,
  { items, place: parent }: ApplyProvidersInput,
): Promise<void> {
  if (items.length === 0) return
  const level = ownerOf(run, parent)
  const expected = items.map((item) => describeProvider(item, level))
  const twice = expected.find(({ name }, index) =>
    expected.slice(0, index).some((other) => other.name === name),
  )
  if (twice) throw documentError(twice.file, `the ${twice.thing} is described twice`)
  const existing = await listAllPages(level, "ListProviders", level.own)
  const offered = await listAllPages(level, "ListLoginPolicyIDPs", {})
  for (const each of expected) {
    const id = await applyProvider(run, level, { each, existing })
    const isOffered = offered.some((link) => textAt(link, "idpId") === id)
    if (each.signIn === undefined || each.signIn === isOffered) continue
    const method = each.signIn ? "AddIDPToLoginPolicy" : "RemoveIDPFromLoginPolicy"
    if (!run.isPlan && id) await level.call?.(level.operation(method), { idpId: id })
    run.steps.push({ action: "change", thing: each.thing, fields: ["signIn"], once: {} })
  }
  const left = existing
    .map((each) => textAt(each, "name"))
    .filter((name) => !expected.some((each) => each.name === name))
  run.undescribed.push(...left.map((name) => `provider ${name}${level.of}`))
}

function ownerOf(run: ApplyRun, parent: ParentResource | undefined): ProviderOwner {
  const service = parent ? ManagementService : AdminService
  const orgId = parent?.ids?.organizationId
  return {
    of: parent?.of ?? "",
    operation: (name) => {
      const found = service.methods.find((method) => method.name === name)
      if (!found) throw new Error(`operation ${name} not found`)
      return found
    },
    call: parent && !orgId ? undefined : (method, request) => run.call(method, request, orgId),
    // Excludes the providers of the instance, which an organization can also see.
    own: parent ? { queries: [{ ownerTypeQuery: { ownerType: "IDP_OWNER_TYPE_ORG" } }] } : {},
  }
}

async function listAllPages({ call, operation }: ProviderOwner, name: string, request: JsonObject) {
  const found: JsonObject[] = []
  while (call) {
    const query = { offset: `${found.length}`, limit: pageSize, asc: true }
    const answer = await call(operation(name), { ...request, query })
    const page = listAt(answer, "result").filter(isObject)
    found.push(...page)
    if (page.length < pageSize) break
  }
  return found
}

const pageSize = 100

type DescribedProvider = {
  readonly file: string
  readonly name: string
  readonly thing: string
  readonly kind: string
  /** The request fields as described. */
  readonly described: JsonObject
  /** The same fields as the server would parse and return them. */
  readonly expected: JsonObject
  readonly options: JsonObject
  readonly signIn: boolean | undefined
}

function describeProvider(
  { given: described, file }: DescribedItem,
  { of, operation }: ProviderOwner,
): DescribedProvider {
  const name = textAt(described, "name")
  if (name === "") throw documentError(file, `the name of a provider${of} is required`)
  const thing = `provider ${name}${of}`
  const [kind, ...others] = Object.keys(described).filter((key) =>
    Object.hasOwn(providerKinds, key),
  )
  requireKnownNames(
    described,
    ["name", "signIn", "providerOptions", ...Object.keys(providerKinds)],
    file,
  )
  if (kind === undefined || others.length > 0) {
    throw documentError(
      file,
      `the ${thing} must have exactly one of: ${Object.keys(providerKinds).join(", ")}`,
    )
  }
  const { signIn, providerOptions: options = {} } = described
  const mergedFields = described[kind]
  if (!isObject(mergedFields) || !isObject(options)) {
    throw documentError(file, `${kind} and providerOptions of the ${thing} must be objects`)
  }
  if (signIn !== undefined && typeof signIn !== "boolean") {
    throw documentError(file, `signIn of the ${thing} must be true or false`)
  }
  const { input } = operation(`Add${providerKinds[kind]}Provider`)
  const apart = ["name", "providerOptions"]
  const fields = input.fields.map(({ jsonName }) => jsonName)
  requireKnownNames(
    mergedFields,
    fields.filter((each) => !apart.includes(each)),
    `${file}: ${thing}`,
  )
  requireKnownNames(
    options,
    OptionsSchema.fields.map(({ jsonName }) => jsonName),
    `${file}: ${thing}`,
  )
  const written = encodeFiles(mergedFields, input)
  const read = normalizeMessage(
    input,
    { name, ...written, providerOptions: options },
    `${file}: ${thing}`,
  )
  const { name: _, providerOptions, ...expected } = read
  return {
    file,
    name,
    thing,
    kind,
    described: written,
    signIn,
    // Parsing omits default values such as a disabled option, but they are described.
    expected: { ...written, ...expected },
    options: { ...options, ...(isObject(providerOptions) && normalizeOptions(providerOptions)) },
  }
}

/**
 * The options in the form in which the server stores them; domains in a different form would always
 * differ.
 */
function normalizeOptions(options: JsonObject): JsonObject {
  const { allowedDomains } = options
  if (!Array.isArray(allowedDomains)) return options
  const domains = allowedDomains.map((each) =>
    typeof each === "string" ? normalizeDomain(each) : each,
  )
  return { ...options, allowedDomains: [...new Set(domains)] }
}

/** Files are text in descriptions; bytes fields of the API need base64. */
const encodeFiles = (described: JsonObject, message: DescMessage): JsonObject =>
  Object.fromEntries(
    Object.entries(described).map(([name, value]): [string, JsonValue] =>
      fieldOf(message, name)?.scalar === ScalarType.BYTES && typeof value === "string"
        ? [name, Buffer.from(value).toString("base64")]
        : [name, value],
    ),
  )

type ApplyProviderInput = {
  readonly each: DescribedProvider
  readonly existing: readonly JsonObject[]
}

/** Returns the ID of the provider; undefined if it has not been created yet. */
async function applyProvider(
  run: ApplyRun,
  level: ProviderOwner,
  { each, existing }: ApplyProviderInput,
) {
  const { name, kind, thing, file, described, options } = each
  const [present, second] = existing.filter((one) => textAt(one, "name") === name)
  if (second)
    throw documentError(file, `several providers have the name of ${thing}; rename one first`)
  if (!present) {
    const add = level.operation(`Add${providerKinds[kind]}Provider`)
    const request = { name, ...described, providerOptions: options }
    const answer = run.isPlan ? undefined : await level.call?.(add, request)
    run.steps.push({ action: "create", thing, fields: [], once: {} })
    return answer && textAt(answer, "id")
  }
  const id = textAt(present, "id")
  const whole = (await level.call?.(level.operation("GetProviderByID"), { id })) ?? {}
  const configSchema = fieldOf(ProviderConfigSchema, kind)?.message
  const config = valueAt(whole, `idp.config.${kind}`)
  if (!configSchema || !isObject(config)) {
    throw documentError(file, `the ${thing} exists with another kind; delete it first`)
  }
  const current = { config, options: valueAt(whole, "idp.config.options") ?? {} }
  const fields = changedFieldsOf(run, each, { current, shown: configSchema, level })
  if (fields.length === 0) return id
  const update = level.operation(`Update${providerKinds[kind]}Provider`)
  if (!run.isPlan) await level.call?.(update, { id, ...createUpdate(each, current, update.input) })
  run.steps.push({ action: "change", thing, fields, once: {} })
  return id
}

type CurrentProvider = { readonly config: JsonObject; readonly options: JsonValue }
type CompareInput = {
  readonly current: CurrentProvider
  readonly shown: DescMessage
  readonly level: ProviderOwner
}

/** The names of the fields that differ. Includes secrets, which can't be compared, if requested. */
function changedFieldsOf(
  run: ApplyRun,
  each: DescribedProvider,
  { current, shown: configSchema, level }: CompareInput,
): string[] {
  const { expected, options, described, kind } = each
  const existing = isObject(current.options) ? current.options : {}
  const { fields } = level.operation(`Update${providerKinds[kind]}Provider`).input
  const secrets = fields.filter(
    (field) => getOption(field, sensitive) && Object.hasOwn(described, field.jsonName),
  )
  return [
    ...changedFieldNames(differencesIn(expected, current.config, configSchema), configSchema),
    ...changedFieldNames(differencesIn(options, existing, OptionsSchema), OptionsSchema).map(
      (name) => `providerOptions.${name}`,
    ),
    ...(run.saysSecrets ? secrets.map(({ jsonName }) => jsonName) : []),
  ]
}

/** An update contains the whole provider; fields that are not described keep their values. */
function createUpdate(
  { name, described, options }: DescribedProvider,
  current: CurrentProvider,
  input: DescMessage,
): JsonObject {
  const oneofs = Object.keys(described).flatMap((key) => fieldOf(input, key)?.oneof ?? [])
  const unchangedFields = Object.entries(current.config).filter(([key]) => {
    const field = fieldOf(input, key)
    return field && !(field.oneof && oneofs.includes(field.oneof))
  })
  const mergedFields = Object.entries(described).map(([key, value]): [string, JsonValue] => [
    key,
    mergeField(current.config[key], value, fieldOf(input, key)),
  ])
  const before = isObject(current.options) ? current.options : {}
  return {
    name,
    ...Object.fromEntries([...unchangedFields, ...mergedFields]),
    providerOptions: { ...before, ...options },
  }
}

/** Fields of a nested message also keep their values unless they are in a oneof. */
function mergeField(before: JsonValue | undefined, value: JsonValue, field: DescField | undefined) {
  if (!isObject(before) || !isObject(value)) return value
  return field?.message && field.message.oneofs.length === 0 ? { ...before, ...value } : value
}
