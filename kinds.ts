import { methods } from "/tmp/search/wt/test/acceptance/service.ts"
import { searchesOf } from "/tmp/search/wt/scripts/bench/searches.ts"
const s = new Proxy({}, { get: () => () => "x" }) as any
const all = searchesOf(methods, s)
console.log(all.length)
const by = Map.groupBy(all, (a) => a.method.parent.name + "." + a.method.name)
for (const [k, v] of by) console.log(k, v.length)
for (const a of by.get("UserService.ListUsers") ?? []) console.log(a.what)
