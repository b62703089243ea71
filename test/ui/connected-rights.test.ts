import { beforeAll, expect, test } from "vitest"
import { prefixes, reserved } from "../../src/oauth/token/scope.ts"
import { describeAccess } from "../../ui/console/account/connected-applications.tsx"
import { addTexts } from "../../ui/console/shell/text.ts"
import texts from "../../ui/console/shell/texts/pages.en.json"

const rightsFor = (scope: string) =>
  describeAccess({ scopes: [scope], projects: [], offline: false })
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
])("the account page shows an application's rights by %s", (scope, text) => {
  expect(rightsFor(scope)).toEqual([account, text])
})
