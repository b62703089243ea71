// Every list of the interface with every order and filter it has, made from its descriptors: what
// is added to the book is measured, or the script says which value it does not know.
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
} from "@bufbuild/protobuf"
import { access } from "../../src/gen/core/options_pb.ts"

/** What a request asks for; made anew for each call, so that no two are the same. */
export type Search = {
  readonly what: string
  readonly method: DescMethod
  readonly request: () => object
}

/** Rows that requests may name: each answers one of many. */
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
  /** An offset anywhere in the list of users. */
  readonly anywhere: () => number
}

export const isList = (method: DescMethod): boolean => /^(List|Search)/.test(method.name)

/** Lists that the owner of an instance can't ask for, and why. */
export const elsewhere = (method: DescMethod): string | undefined =>
  getOption(method, access).system
    ? "asked by who manages the instances, whose number users do not change"
    : undefined

type Maker = () => object

export function searchesOf(methods: readonly DescMethod[], samples: Samples): readonly Search[] {
  return methods
    .filter((method) => isList(method) && !elsewhere(method))
    .flatMap((method) => searchesIn(method, samples))
}

function searchesIn(method: DescMethod, samples: Samples): readonly Search[] {
  const { fields } = method.input
  const base: Maker = merged(
    fields.filter(isNeeded).map((field) => () => ({
      [field.jsonName]: textFor(samples, [field.jsonName, method.name]),
    })),
  )
  const page = fields.find(({ jsonName }) => jsonName === "query" || jsonName === "pagination")
  const paged = (over: object): Maker => (page ? () => ({ [page.jsonName]: over }) : () => ({}))
  const search = (what: string, ...parts: readonly Maker[]): Search => ({
    what: `${method.parent.name}.${method.name}${what && `, ${what}`}`,
    method,
    request: merged([base, ...parts]),
  })
  const plain = paged({ limit: 100 })
  return [
    search("", plain),
    ...(page
      ? [
          search("backwards", paged({ limit: 100, asc: true })),
          search("far", () => ({ [page.jsonName]: { limit: 100, offset: samples.anywhere() } })),
        ]
      : []),
    ...fields.flatMap((field) =>
      orders(field).flatMap(({ order, part }) => [
        search(`by ${order}`, paged({ limit: 100, asc: true }), part),
        search(`by ${order}, downwards`, plain, part),
      ]),
    ),
    ...fields.flatMap((field) =>
      filters(method, field, samples).map(({ what, part }) => search(what, plain, part)),
    ),
  ]
}

const merged =
  (parts: readonly Maker[]): Maker =>
  () =>
    Object.assign({}, ...parts.map((part) => part()))

/** Plain fields of a request name what the list is of. */
const isNeeded = (field: DescField): boolean =>
  field.fieldKind === "scalar" && field.scalar === 9 && !field.jsonName.includes("oken")

function orders(field: DescField): readonly { order: string; part: Maker }[] {
  if (field.fieldKind !== "enum") return []
  return field.enum.values.map(({ name }) => ({
    order: name,
    part: () => ({ [field.jsonName]: name }),
  }))
}

function filters(
  method: DescMethod,
  field: DescField,
  samples: Samples,
): readonly { what: string; part: Maker }[] {
  const isFilter = field.fieldKind === "list" && field.listKind === "message"
  if (!isFilter) return []
  return variants(field.message, samples, [method.name], 0).map(({ what, make }) => ({
    what,
    part: () => ({ [field.jsonName]: [make()] }),
  }))
}

type Variant = { readonly what: string; readonly make: Maker }

/** Messages of a type, one for each of its alternatives and each of the enums in it. */
function variants(
  message: DescMessage,
  samples: Samples,
  path: readonly string[],
  depth: number,
): readonly Variant[] {
  if (message.typeName === "google.protobuf.Timestamp") throw new Error("a time is a text")
  const [choice] = message.oneofs.filter(({ fields }) => fields.length > 1)
  const chosen = choice
    ? choice.fields
        .filter((field) => depth < 1 || !isNesting(field))
        .flatMap((field) => ofField(field, samples, { path, depth }))
    : []
  const others = message.fields.filter((field) => !choice || field.oneof !== choice)
  const rest = others.reduce<readonly Variant[]>(
    (all, field) =>
      all.flatMap((one) =>
        ofField(field, samples, { path, depth }).map((other) => ({
          what: [one.what, other.what].filter(Boolean).join(" "),
          make: merged([one.make, other.make]),
        })),
      ),
    [{ what: "", make: () => ({}) }],
  )
  return choice ? chosen : rest
}

/** A filter of filters. */
const isNesting = (field: DescField): boolean =>
  field.message !== undefined &&
  /^(Or|And|Not)|(Or|And|Not)(Query|Filter)$/.test(field.message.name)

type Place = { readonly path: readonly string[]; readonly depth: number }

function ofField(field: DescField, samples: Samples, place: Place): readonly Variant[] {
  const { jsonName } = field
  const path = [jsonName, ...place.path]
  const as = (what: string, make: () => unknown): Variant => ({
    what,
    make: () => ({ [jsonName]: make() }),
  })
  if (field.fieldKind === "enum") return enumValues(field.enum).map((name) => as(name, () => name))
  if (field.fieldKind === "scalar") {
    if (field.scalar === 8) return [as(jsonName, () => true)]
    if (field.scalar === 12) return [as("", () => btoa("value"))]
    return [as("", () => textFor(samples, path))]
  }
  if (field.fieldKind === "list") {
    if (field.listKind === "scalar") return [as("", () => [textFor(samples, path)])]
    if (field.listKind !== "message") throw new Error(`${jsonName} is a list of something new`)
    const inner = variants(field.message, samples, path, place.depth + 1)
    return inner.slice(0, 3).map(({ what, make }) => as(`(${what}) twice`, () => [make(), make()]))
  }
  if (field.fieldKind === "map") throw new Error(`${jsonName} is a map`)
  if (field.message.typeName === "google.protobuf.Timestamp") {
    return [as("", () => new Date(Date.now() - 60_000).toISOString())]
  }
  const depth = isNesting(field) ? place.depth + 1 : place.depth
  return variants(field.message, samples, path, depth).map(({ what, make }) =>
    as(`${jsonName} ${what}`.trim(), make),
  )
}

const enumValues = ({ values }: DescEnum): readonly string[] =>
  (values.length > 1 ? values.filter(({ name }) => !/_UNSPECIFIED$/.test(name)) : values).map(
    ({ name }) => name,
  )

/** What stands in a text field, told by its name or that of what it is in. */
function textFor(samples: Samples, path: readonly string[]): string {
  const isName = path[0] === "name"
  const found =
    sampleOf(known, isName ? path.slice(1, -1) : path) ?? sampleOf(names, path.slice(-1))
  if (!found) throw new Error(`no sample for ${path.join(" of ")}`)
  return found(samples)
}

const sampleOf = (list: readonly Sample[], path: readonly string[]) => {
  const found = path.map((name) => list.find(([pattern]) => pattern.test(name)))
  return found.find((each) => each !== undefined)?.[1]
}

type Sample = readonly [RegExp, (samples: Samples) => string]

/** Names, by the list that they are looked for in. */
const names: readonly Sample[] = [
  [/Org/, ({ organizationName }) => organizationName()],
  [/App/, ({ applicationName }) => applicationName()],
  [/Group/, ({ groupName }) => groupName()],
  [/Project/, ({ projectName }) => projectName()],
]

const known: readonly Sample[] = [
  [/^(email|userEmails?)/i, ({ person }) => `${person()}@example.com`],
  [/^(userName|loginName|preferredLoginName)/i, ({ person }) => person()],
  [/^firstName/, ({ givenName }) => givenName()],
  [/^(lastName|nickName)/, ({ familyName }) => familyName()],
  [
    /^(displayName|userDisplayName)/,
    ({ givenName, familyName }) => `${givenName()} ${familyName()}`,
  ],
  [/^(number|phone)/, ({ anywhere }) => `+4179${anywhere()}`],
  [/^(roleKey|key|metadataKey)/i, ({ roleKey }) => roleKey()],
  [/domain/i, ({ anywhere }) => `d${anywhere()}.example.com`],
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
