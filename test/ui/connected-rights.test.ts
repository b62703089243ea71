import { beforeAll, expect, test } from "vitest"
import { prefixes, reserved } from "../../src/oauth/token/scope.ts"
import { rightsOf } from "../../ui/console/account/connected-applications.tsx"
import { addTexts } from "../../ui/console/shell/text.ts"
import texts from "../../ui/console/shell/texts/pages.en.json"

const said = (scope: string) => rightsOf({ scopes: [scope], projects: [], offline: false })
const {
  "account.apps.scope.openid": account,
  "account.apps.scope.roles": roles,
  "account.apps.scope.organization": organization,
  "account.apps.scope.metadata": metadata,
} = texts
beforeAll(() => addTexts(texts))

test.each<[scope: string, text: string]>([
  ["groups", roles],
  ["roles", roles],
  [reserved.projectRoles, roles],
  [reserved.allRoles, roles],
  [`${prefixes.role}admin`, roles],
  [`${prefixes.org}1`, organization],
  [`${prefixes.orgDomain}acme.example`, organization],
  [reserved.resourceOwner, organization],
  [reserved.metadata, metadata],
])("the account page says what an application learns by %s", (scope, text) => {
  expect(said(scope)).toEqual([account, text])
})
