/**
 * The code that runs in the sandbox before a script and creates the values of `ctx` and `api` from
 * JSON. Its only way out is `ask`. It is a text because it runs in another engine. A script can
 * manipulate it only for its own run, and the main thread treats its output as untrusted.
 */
export const guest = `(ask) => {
  "use strict"
  const textOfAll = (value) => JSON.stringify(value === undefined ? null : value)
  const call = (kind, value) => JSON.parse(ask(kind, textOfAll(value)))
  const effects = []
  const effect = (kind) => (...values) => { effects[effects.length] = [kind, ...values] }
  const once = (read) => {
    let known
    return () => (known === undefined ? (known = read()) : known)
  }

  const shown = (value) => {
    if (typeof value === "string") return value
    if (value instanceof Error) return value.name + ": " + value.message
    const json = JSON.stringify(value)
    return json === undefined ? String(value) : json
  }
  const logger = (level) => (...values) => {
    call("log", { level, text: values.map(shown).join(" ") })
  }

  const textOf = (body) =>
    body === undefined || typeof body === "string" ? body : JSON.stringify(body)
  const fetch = (url, { method = "GET", headers = {}, body } = {}) => {
    const answer = call("fetch", {
      url: String(url), method: String(method), body: textOf(body),
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) =>
        [name.toLowerCase(), Array.isArray(value) ? value.join(", ") : String(value)])),
    })
    if (answer.error !== undefined) throw new Error("fetch: " + answer.error)
    return { ...answer, text: () => answer.body, json: () => JSON.parse(answer.body) }
  }

  const uuid = (version) => (...values) => {
    const answer = call("uuid", { version, values })
    if (answer.error !== undefined) throw new Error("uuid: " + answer.error)
    return answer.uuid
  }
  const modules = {
    "core/http": { fetch },
    "core/log": { log: logger("log"), warn: logger("warn"), error: logger("error") },
    "core/uuid": {
      v1: uuid(1), v3: uuid(3), v4: uuid(4), v5: uuid(5), v7: uuid(7),
      namespaceDNS: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
      namespaceURL: "6ba7b811-9dad-11d1-80b4-00c04fd430c8",
      namespaceOID: "6ba7b812-9dad-11d1-80b4-00c04fd430c8",
      namespaceX500: "6ba7b814-9dad-11d1-80b4-00c04fd430c8",
    },
  }
  globalThis.require = (name) => {
    if (Object.hasOwn(modules, name)) return modules[name]
    throw new Error("there is no module " + name + "; there are " + Object.keys(modules).join(", "))
  }

  // The engine's own begins with the same number in each run.
  let numbers = []
  Math.random = () => {
    if (numbers.length === 0) numbers = call("random")
    return numbers.pop()
  }

  const dated = (thing) => thing && {
    ...thing, creationDate: new Date(thing.creationDate), changeDate: new Date(thing.changeDate),
  }
  const metadata = (kind) => once(() => {
    const found = call(kind)
    return { ...found, timestamp: new Date(found.timestamp), metadata: found.metadata.map(dated) }
  })
  const grants = once(() => {
    const found = call("grants")
    return { ...found, timestamp: new Date(found.timestamp), grants: found.grants.map(dated) }
  })
  const ofUser = (data) => ({
    getUser: () => dated(data.user),
    user: { getMetadata: metadata("userMetadata"), get grants() { return grants() } },
  })
  const asked = (thing) => thing && {
    ...dated(thing), ...(thing.authTime && { authTime: new Date(thing.authTime) }),
  }
  const request = (data) => ({
    authRequest: asked(data.authRequest), httpRequest: data.httpRequest,
  })
  const append = (target) => ({
    ...target, metadata: [], v1: { ...target.v1, user: { appendMetadata: effect("metadata") } },
  })
  const setters = (...names) =>
    Object.fromEntries(names.map((name) => ["set" + name, effect("set" + name)]))
  const names = ["FirstName", "LastName", "NickName", "DisplayName", "PreferredLanguage"]
  const contacts = ["Email", "EmailVerified", "Phone", "PhoneVerified"]

  const shapes = {
    token: (data) => {
      const claims = {
        setClaim: effect("claim"), appendLogIntoClaims: effect("claimLog"),
      }
      return {
        ctx: { v1: {
          ...ofUser(data), claims: data.claims, actor: data.actor,
          org: { getMetadata: metadata("orgMetadata") },
          application: { getClientId: () => data.clientId },
        } },
        api: { v1: { claims, userinfo: claims, user: { setMetadata: effect("metadata") } } },
      }
    },
    saml: (data) => ({
      ctx: { v1: ofUser(data) },
      api: { v1: {
        attributes: { setCustomAttribute: effect("attribute") },
        user: { setMetadata: effect("metadata") },
      } },
    }),
    external: (data) => ({
      ctx: {
        accessToken: data.accessToken, idToken: data.idToken,
        claimsJSON: () => JSON.stringify(data.claims),
        getClaim: (key) => Object.hasOwn(data.claims, key) ? data.claims[key] : undefined,
        v1: {
          externalUser: () => data.externalUser, providerInfo: data.providerInfo,
          authError: data.authError, ...request(data),
        },
      },
      api: append({ ...setters(...names, "PreferredUsername", ...contacts), v1: {} }),
    }),
    authenticated: (data) => ({
      ctx: { v1: {
        getUser: () => dated(data.user), authMethod: data.authMethod, authError: data.authError,
        ...request(data),
      } },
      api: append({ v1: {} }),
    }),
    before: (data) => ({
      ctx: { v1: { user: data.user, ...request(data) } },
      api: append({ ...setters(...names, "Gender", "Username", ...contacts), v1: {} }),
    }),
    after: (data) => ({
      ctx: { v1: { getUser: () => dated(data.user), ...request(data) } },
      api: { userGrants: [], v1: { appendUserGrant: effect("grant") } },
    }),
  }

  let handed
  return {
    run: (entry, json) => {
      const { shape, data } = JSON.parse(json)
      handed = shapes[shape](data)
      return entry(handed.ctx, handed.api)
    },
    finish: () => {
      const { api } = handed
      const older = [
        ...(api.metadata || []).map(({ key, value }) => ["metadata", key, value]),
        ...(api.userGrants || []).map((grant) => ["grant", grant]),
      ]
      return JSON.stringify([...effects, ...older])
    },
  }
}`
