// All list and search operations of the API with every order and filter, derived from the
// descriptors: new operations are included automatically, and an unknown field makes the script
// fail.
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
} from "@bufbuild/protobuf"
import { access } from "../../src/gen/core/options_pb.ts"

/** A search; `request` creates a new request for each call, so that no two are the same. */
export type Search = {
  readonly what: string
  readonly method: DescMethod
  readonly request: () => object
}

/** Values for requests; each function returns one of many. */
export type Samples = {
  readonly userId: () => string
  readonly person: () => string
  readonly organizationId: () => string
  readonly organizationName: () => string
  readonly projectId: () => string
  readonly projectName: () => string
  readonly applicationId: () => string
  readonly applicationName: () => string
  readonly clientId: () => string
  readonly groupId: () => string
  readonly groupName: () => string
  readonly grantId: () => string
  readonly authorizationId: () => string
  readonly givenName: () => string
  readonly familyName: () => string
  readonly roleKey: () => string
  /** A random offset in the list of users. */
  readonly randomOffset: () => number
}

export const isList = (method: DescMethod): boolean => /^(List|Search)/.test(method.name)

/** Why an owner of an instance can't call an operation; undefined if they can. */
export const exclusionReason = (method: DescMethod): string | undefined =>
  getOption(method, access).system ? "only for system users" : undefined

type RequestFactory = () => object

export function searchesOf(methods: readonly DescMethod[], samples: Samples): readonly Search[] {
  return methods
    .filter((method) => isList(method) && !exclusionReason(method))
    .flatMap((method) => searchesOfMethod(method, samples))
}

function searchesOfMethod(method: DescMethod, samples: Samples): readonly Search[] {
  const { fields } = method.input
  const base: RequestFactory = mergeParts(
    fields.filter(isParentField).map((field) => () => ({
      [field.jsonName]: sampleTextFor(samples, [field.jsonName, method.name]),
    })),
  )
  const page = fields.find(({ jsonName }) => jsonName === "query" || jsonName === "pagination")
  const pagedBy = (page_: object): RequestFactory =>
    page ? () => ({ [page.jsonName]: page_ }) : () => ({})
  const search = (label: string, ...parts: readonly RequestFactory[]): Search => ({
    what: `${method.parent.name}.${method.name}${label && `, ${label}`}`,
    method,
    request: mergeParts([base, ...parts]),
  })
  const firstPage = pagedBy({ limit: 100 })
  return [
    search("", firstPage),
    ...(page
      ? [
          search("backwards", pagedBy({ limit: 100, asc: true })),
          search("far", () => ({
            [page.jsonName]: { limit: 100, offset: samples.randomOffset() },
          })),
        ]
      : []),
    ...fields.flatMap((field) =>
      listOrders(field).flatMap(({ order, part }) => [
        search(`by ${order}`, pagedBy({ limit: 100, asc: true }), part),
        search(`by ${order}, descending`, firstPage, part),
      ]),
    ),
    ...fields.flatMap((field) =>
      listFilters(method, field, samples).map(({ what, part }) => search(what, firstPage, part)),
    ),
  ]
}

const mergeParts =
  (parts: readonly RequestFactory[]): RequestFactory =>
  () =>
    Object.assign({}, ...parts.map((part) => part()))

/** Text fields of a request identify the parent of the list. */
const isParentField = (field: DescField): boolean =>
  field.fieldKind === "scalar" && field.scalar === 9 && !field.jsonName.includes("oken")

function listOrders(field: DescField): readonly { order: string; part: RequestFactory }[] {
  if (field.fieldKind !== "enum") return []
  return field.enum.values.map(({ name }) => ({
    order: name,
    part: () => ({ [field.jsonName]: name }),
  }))
}

function listFilters(
  method: DescMethod,
  field: DescField,
  samples: Samples,
): readonly { what: string; part: RequestFactory }[] {
  const isFilter = field.fieldKind === "list" && field.listKind === "message"
  if (!isFilter) return []
  return listVariants(field.message, samples, [method.name], 0).map(({ what, make }) => ({
    what,
    part: () => ({ [field.jsonName]: [make()] }),
  }))
}

type Variant = { readonly what: string; readonly make: RequestFactory }

/** Messages of a type, one for each alternative of its oneofs and each value of its enums. */
function listVariants(
  message: DescMessage,
  samples: Samples,
  path: readonly string[],
  depth: number,
): readonly Variant[] {
  if (message.typeName === "google.protobuf.Timestamp") throw new Error("no sample for a timestamp")
  const [choice] = message.oneofs.filter(({ fields }) => fields.length > 1)
  const choiceVariants = choice
    ? choice.fields
        .filter((field) => depth < 1 || !isNesting(field))
        .flatMap((field) => variantsOfField(field, samples, { path, depth }))
    : []
  const others = message.fields.filter((field) => !choice || field.oneof !== choice)
  const rest = others.reduce<readonly Variant[]>(
    (all, field) =>
      all.flatMap((one) =>
        variantsOfField(field, samples, { path, depth }).map((other) => ({
          what: [one.what, other.what].filter(Boolean).join(" "),
          make: mergeParts([one.make, other.make]),
        })),
      ),
    [{ what: "", make: () => ({}) }],
  )
  return choice ? choiceVariants : rest
}

/** A filter that contains filters. */
const isNesting = (field: DescField): boolean =>
  field.message !== undefined &&
  /^(Or|And|Not)|(Or|And|Not)(Query|Filter)$/.test(field.message.name)

type FieldContext = { readonly path: readonly string[]; readonly depth: number }

function variantsOfField(
  field: DescField,
  samples: Samples,
  context: FieldContext,
): readonly Variant[] {
  const { jsonName } = field
  const path = [jsonName, ...context.path]
  const as = (label: string, make: () => unknown): Variant => ({
    what: label,
    make: () => ({ [jsonName]: make() }),
  })
  if (field.fieldKind === "enum") return enumValues(field.enum).map((name) => as(name, () => name))
  if (field.fieldKind === "scalar") {
    if (field.scalar === 8) return [as(jsonName, () => true)]
    if (field.scalar === 12) return [as("", () => btoa("value"))]
    return [as("", () => sampleTextFor(samples, path))]
  }
  if (field.fieldKind === "list") {
    if (field.listKind === "scalar") return [as("", () => [sampleTextFor(samples, path)])]
    if (field.listKind !== "message") throw new Error(`${jsonName} is a list of an unknown kind`)
    const nested = listVariants(field.message, samples, path, context.depth + 1)
    return nested.slice(0, 3).map(({ what, make }) => as(`(${what}) twice`, () => [make(), make()]))
  }
  if (field.fieldKind === "map") throw new Error(`${jsonName} is a map`)
  if (field.message.typeName === "google.protobuf.Timestamp") {
    return [as("", () => new Date(Date.now() - 60_000).toISOString())]
  }
  const depth = isNesting(field) ? context.depth + 1 : context.depth
  return listVariants(field.message, samples, path, depth).map(({ what, make }) =>
    as(`${jsonName} ${what}`.trim(), make),
  )
}

const enumValues = ({ values }: DescEnum): readonly string[] =>
  (values.length > 1 ? values.filter(({ name }) => !/_UNSPECIFIED$/.test(name)) : values).map(
    ({ name }) => name,
  )

/** A sample for a text field, chosen by the field's name or its parent's. */
function sampleTextFor(samples: Samples, path: readonly string[]): string {
  const isName = path[0] === "name"
  const matches =
    findSample(fieldSamples, isName ? path.slice(1, -1) : path) ??
    findSample(nameSamples, path.slice(-1))
  if (!matches) throw new Error(`no sample for ${path.join(" of ")}`)
  return matches(samples)
}

const findSample = (list: readonly Sample[], path: readonly string[]) => {
  const matches = path.map((name) => list.find(([pattern]) => pattern.test(name)))
  return matches.find((each) => each !== undefined)?.[1]
}

type Sample = readonly [RegExp, (samples: Samples) => string]

/** Names, by the list that contains them. */
const nameSamples: readonly Sample[] = [
  [/Org/, ({ organizationName }) => organizationName()],
  [/App/, ({ applicationName }) => applicationName()],
  [/Group/, ({ groupName }) => groupName()],
  [/Project/, ({ projectName }) => projectName()],
]

const fieldSamples: readonly Sample[] = [
  [/^(email|userEmails?)/i, ({ person }) => `${person()}@example.com`],
  [/^(userName|loginName|preferredLoginName)/i, ({ person }) => person()],
  [/^firstName/, ({ givenName }) => givenName()],
  [/^(lastName|nickName)/, ({ familyName }) => familyName()],
  [
    /^(displayName|userDisplayName)/,
    ({ givenName, familyName }) => `${givenName()} ${familyName()}`,
  ],
  [/^(number|phone)/, ({ randomOffset }) => `+4179${randomOffset()}`],
  [/^(roleKey|key|metadataKey)/i, ({ roleKey }) => roleKey()],
  [/domain/i, ({ randomOffset }) => `d${randomOffset()}.example.com`],
  [/^(instanceId|requestId)$/, () => "1"],
  [/clientId|entityId/, ({ clientId }) => clientId()],
  [/org/i, ({ organizationId }) => organizationId()],
  [/authorization/i, ({ authorizationId }) => authorizationId()],
  [/group/i, ({ groupId }) => groupId()],
  [/user/i, ({ userId }) => userId()],
  [/grantId|projectGrant/i, ({ grantId }) => grantId()],
  [/projectName/, ({ projectName }) => projectName()],
  [/project/i, ({ projectId }) => projectId()],
  [/app/i, ({ applicationId }) => applicationId()],
  [/token/i, ({ applicationId }) => applicationId()],
  [/^(idpId|idpName|actionId|actionName)Query$/, () => "1"],
  [/^type$/, () => "2"],
  [/^actionId$/, () => "1"],
  [/^(targetName|targetIds?|target|keyIdsFilter)$/, () => "1"],
  [/^method$/, () => "/core.user.v2.UserService/ListUsers"],
  [/^service$/, () => "core.user.v2.UserService"],
  [/^function$/, () => "preuserinfo"],
  [/^event$/, () => "user.human.added"],
  [/^aggregateId$/, ({ userId }) => userId()],
  [/^aggregateTypes$/, () => "user"],
  [/^eventTypes$/, () => "user.human.added"],
  [/^resourceOwner$/, ({ organizationId }) => organizationId()],
  [/^(creator|ids)Query$/, ({ userId }) => userId()],
]
