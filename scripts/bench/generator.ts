// Creates users over Connect: `generator.ts URL TOKEN ORG SECONDS`. Prints the figures as JSON.
import { measure } from "./figure.ts"

const [url = "", token = "", organizationId = "", seconds = "10"] = process.argv.slice(2)
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
let nextNumber = 0

const figures = await measure(64, Number(seconds), async () => {
  const username = `bench-${process.pid}-${nextNumber++}`
  const response = await fetch(`${url}/core.user.v2.UserService/CreateUser`, {
    method: "POST",
    headers,
    body: JSON.stringify({
      organizationId,
      username,
      human: {
        profile: { givenName: "Bench", familyName: "Person" },
        email: { email: `${username}@example.com`, isVerified: true },
      },
    }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`CreateUser returned ${response.status}: ${text}`)
})
console.log(JSON.stringify({ ...figures, count: nextNumber }))
