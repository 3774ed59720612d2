// Compiles Token.sol and prints its contracts as JSON: name to ABI and bytecode.
import { readFileSync } from "node:fs";
import solc from "solc";

const input = {
  language: "Solidity",
  sources: { "Token.sol": { content: readFileSync("Token.sol", "utf8") } },
  settings: {
    optimizer: { enabled: true, runs: 200 },
    metadata: { appendCBOR: false },
    outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
const errors = (output.errors ?? []).map((error) => error.formattedMessage);
if (errors.length) {
  console.error(errors.join("\n"));
  process.exit(1);
}
const contracts = Object.entries(output.contracts["Token.sol"]).map(([name, contract]) => [
  name,
  { abi: contract.abi, bytecode: "0x" + contract.evm.bytecode.object },
]);
console.log(JSON.stringify(Object.fromEntries(contracts), null, 1));
